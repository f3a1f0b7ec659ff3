#include "common/ids.h"
#include "ops/scaling_request.h"
#include "ops/table_description.h"

namespace stator::ops {

namespace {

using catalog::ScalableTarget;
using catalog::ScalingPolicy;
using json::Element;

constexpr double kLeastPercent = 10;
constexpr double kMostPercent = 90;

std::string_view metric_of(std::string_view dimension) {
  return dimension.ends_with(":WriteCapacityUnits") ? "DynamoDBWriteCapacityUtilization"
                                                    : "DynamoDBReadCapacityUtilization";
}

std::string decimal(double value) {
  std::string text;
  json::append_double(text, value);
  return text.find_first_of(".eE") == std::string::npos ? text + ".0" : text;
}

// Reads what a policy of that target may be.
ScalingPolicy read_policy(const Request& request, const ScalingPlace& place) {
  const Element& body = request.body;
  const auto type = json::string_member(body, "PolicyType");
  if (!type || *type != "TargetTrackingScaling" ||
      json::member(body, "StepScalingPolicyConfiguration") ||
      json::member(body, "PredictiveScalingPolicyConfiguration")) {
    invalid(
        "Only policies of type TargetTrackingScaling are supported for service namespace dynamodb");
  }
  const auto configuration = json::member(body, "TargetTrackingScalingPolicyConfiguration");
  if (!configuration) {
    invalid(
        "TargetTrackingScalingPolicyConfiguration is required for TargetTrackingScaling policies");
  }
  if (json::member(*configuration, "CustomizedMetricSpecification")) {
    throw ApiError("FailedResourceAccessException",
                   "Customized metrics cannot be read: there is no Amazon CloudWatch here");
  }
  const auto metric = json::member(*configuration, "PredefinedMetricSpecification");
  if (!metric) {
    invalid(
        "Exactly one of PredefinedMetricSpecification and CustomizedMetricSpecification must be "
        "specified");
  }
  const std::string name(json::string_member(*metric, "PredefinedMetricType").value_or(""));
  if (name != metric_of(place.dimension)) {
    invalid("Unsupported predefined metric type " + name + " for scalable dimension " +
            place.dimension);
  }
  ScalingPolicy policy;
  if (json::member(*configuration, "TargetValue")->get(policy.target_percent) !=
      simdjson::SUCCESS) {
    invalid("TargetValue must be a number");
  }
  if (!(policy.target_percent > 0)) {
    invalid(
        "For target tracking scaling, target value must be between '8.51592E-109' and "
        "'1.174271E108', but was '" +
        decimal(policy.target_percent) + "'.");
  }
  if (policy.target_percent < kLeastPercent || policy.target_percent > kMostPercent) {
    invalid("For predefined metric type " + name + ", target value must be between '" +
            decimal(kLeastPercent) + "' and '" + decimal(kMostPercent) + "', but was '" +
            decimal(policy.target_percent) + "'.");
  }
  policy.name = std::string(*json::string_member(body, "PolicyName"));
  policy.scale_out_cooldown_s = json::int_member(*configuration, "ScaleOutCooldown");
  policy.scale_in_cooldown_s = json::int_member(*configuration, "ScaleInCooldown");
  policy.disable_scale_in = json::bool_member(*configuration, "DisableScaleIn");
  return policy;
}

std::string policy_arn(const Context& context, const std::string& resource,
                       const ScalingPolicy& policy) {
  return "arn:aws:autoscaling:" + context.region + ":" + context.account +
         ":scalingPolicy:" + policy.id + ":resource/dynamodb/" + resource + ":policyName/" +
         policy.name;
}

// The service lets alarms watch the metric. They are named here, for those who look for them, and
// nothing else.
void append_alarms(json::Object& object, const Context& context, const std::string& resource,
                   const ScalingPolicy& policy) {
  json::Array alarms(object.key("Alarms"));
  for (const char* kind :
       {"AlarmHigh", "AlarmLow", "ProvisionedCapacityHigh", "ProvisionedCapacityLow"}) {
    const std::string name = "TargetTracking-" + resource + "-" + kind + "-" + policy.id;
    json::Object alarm(alarms.element());
    alarm.string("AlarmName", name);
    alarm.string("AlarmARN",
                 "arn:aws:cloudwatch:" + context.region + ":" + context.account + ":alarm:" + name);
    alarm.close();
  }
  alarms.close();
}

void append_configuration(std::string& out, const ScalableTarget& target,
                          const ScalingPolicy& policy) {
  json::Object object(out);
  object.key("TargetValue").append(decimal(policy.target_percent));
  json::Object metric(object.key("PredefinedMetricSpecification"));
  metric.string("PredefinedMetricType", metric_of(target.dimension));
  metric.close();
  if (policy.scale_out_cooldown_s) object.integer("ScaleOutCooldown", *policy.scale_out_cooldown_s);
  if (policy.scale_in_cooldown_s) object.integer("ScaleInCooldown", *policy.scale_in_cooldown_s);
  if (policy.disable_scale_in) object.boolean("DisableScaleIn", *policy.disable_scale_in);
  object.close();
}

auto find_policy(ScalableTarget& target, std::string_view name) {
  return std::find_if(target.policies.begin(), target.policies.end(),
                      [&](const ScalingPolicy& policy) { return policy.name == name; });
}

}  // namespace

Task<std::string> put_scaling_policy(Request& request) {
  const Context& context = request.context;
  check_shape(request);
  const ScalingPlace place = read_scaling_place(request);
  ScalingPolicy policy = read_policy(request, place);
  RandomIds ids;
  const std::string id = ids.uuid();
  const int64_t now_ms = context.clock.now_ms();
  const catalog::Scaling::Change change = [&](std::optional<ScalableTarget>& target) {
    if (!target)
      throw ApiError("ObjectNotFoundException",
                     "No scalable target registered for " + describe(place));
    const auto known = find_policy(*target, policy.name);
    policy.id = known != target->policies.end() ? known->id : id;
    policy.created_ms = known != target->policies.end() ? known->created_ms : now_ms;
    if (known != target->policies.end()) {
      *known = policy;
      return;
    }
    // All policies of one target follow the same metric.
    if (!target->policies.empty()) {
      invalid("Only one TargetTrackingScaling policy for a given metric specification is allowed.");
    }
    target->policies.push_back(policy);
  };
  auto pending = context.scaling.change(place.resource, place.dimension, change);
  co_await pending;
  std::string out;
  json::Object answer(out);
  answer.string("PolicyARN", policy_arn(context, place.resource, policy));
  append_alarms(answer, context, place.resource, policy);
  answer.close();
  co_return out;
}

Task<std::string> delete_scaling_policy(Request& request) {
  check_shape(request);
  const ScalingPlace place = read_scaling_place(request);
  const std::string name(*json::string_member(request.body, "PolicyName"));
  const catalog::Scaling::Change change = [&](std::optional<ScalableTarget>& target) {
    const bool known = target && find_policy(*target, name) != target->policies.end();
    if (!known) {
      throw ApiError("ObjectNotFoundException",
                     "No scaling policy found for " + describe(place) + ", policy name: " + name);
    }
    target->policies.erase(find_policy(*target, name));
  };
  auto pending = request.context.scaling.change(place.resource, place.dimension, change);
  co_await pending;
  co_return "{}";
}

Task<std::string> describe_scaling_policies(Request& request) {
  const Context& context = request.context;
  check_shape(request);
  const ScalingFilter filter = read_scaling_filter(request);
  std::vector<std::string> wanted;
  if (const auto list = json::array_member(request.body, "PolicyNames")) {
    for (const Element one : *list) wanted.emplace_back(std::string_view(one));
  }
  std::vector<std::pair<catalog::TargetPtr, const ScalingPolicy*>> found;
  std::vector<std::string> names;
  for (const auto& target :
       is_dynamodb(request) ? context.scaling.targets() : std::vector<catalog::TargetPtr>()) {
    if (!filter.matches(target->resource, target->dimension)) continue;
    for (const ScalingPolicy& policy : target->policies) {
      if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), policy.name) == wanted.end())
        continue;
      found.emplace_back(target, &policy);
      names.push_back(policy.id);
    }
  }
  const ScalingPage page = read_scaling_page(request, names);
  std::string out;
  json::Object answer(out);
  json::Array list(answer.key("ScalingPolicies"));
  for (size_t i = page.begin; i < page.end; ++i) {
    const auto& [target, policy] = found[i];
    json::Object one(list.element());
    one.string("PolicyARN", policy_arn(context, target->resource, *policy));
    one.string("PolicyName", policy->name);
    append_scaling_place(one, target->resource, target->dimension);
    one.string("PolicyType", "TargetTrackingScaling");
    append_configuration(one.key("TargetTrackingScalingPolicyConfiguration"), *target, *policy);
    append_alarms(one, context, target->resource, *policy);
    append_timestamp(one.key("CreationTime"), policy->created_ms);
    one.close();
  }
  list.close();
  if (!page.next_token.empty()) answer.string("NextToken", page.next_token);
  answer.close();
  co_return out;
}

}  // namespace stator::ops
