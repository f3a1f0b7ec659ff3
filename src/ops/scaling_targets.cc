#include "common/ids.h"
#include "ops/scaling_request.h"
#include "ops/table_description.h"

namespace stator::ops {

namespace {

using catalog::ScalableTarget;

std::string target_arn(const Context& context, const ScalableTarget& target) {
  return "arn:aws:application-autoscaling:" + context.region + ":" + context.account +
         ":scalable-target/" + target.id;
}

std::string role_arn(const Context& context) {
  return "arn:aws:iam::" + context.account +
         ":role/aws-service-role/dynamodb.application-autoscaling.amazonaws.com/"
         "AWSServiceRoleForApplicationAutoScaling_DynamoDBTable";
}

void check_exists(const Context& context, const ScalingPlace& place) {
  ScalableTarget target;
  target.resource = place.resource;
  const auto table = context.catalog.find(target.table());
  if (!table || table->deleted_at_ms)
    invalid("DynamoDB table does not exist: table/" + target.table());
  const std::string name = target.index();
  if (name.empty()) return;
  for (const model::Index& index : table->schema->indexes) {
    if (index.global && index.name == name) return;
  }
  invalid("DynamoDB index does not exist: " + place.resource);
}

std::string no_target(const ScalingPlace& place) {
  return "No scalable target found for " + describe(place);
}

}  // namespace

Task<std::string> register_scalable_target(Request& request) {
  const Context& context = request.context;
  check_shape(request);
  const ScalingPlace place = read_scaling_place(request);
  const auto min = json::int_member(request.body, "MinCapacity");
  const auto max = json::int_member(request.body, "MaxCapacity");
  if (min && *min < 1) invalid("Minimum capacity cannot be less than 1");
  if (min && max && *max < *min) invalid("Maximum capacity cannot be less than minimum capacity");
  check_exists(context, place);
  if (!context.scaling.find(place.resource, place.dimension) &&
      context.scaling.targets().size() >= catalog::Scaling::kMaxTargets) {
    throw ApiError("LimitExceededException",
                   "The limit of " + std::to_string(catalog::Scaling::kMaxTargets) +
                       " scalable targets for service namespace dynamodb was reached");
  }
  RandomIds ids;
  std::string id = "0" + ids.uuid();
  std::erase(id, '-');
  const int64_t now_ms = context.clock.now_ms();
  const catalog::Scaling::Change change = [&](std::optional<ScalableTarget>& target) {
    if (!target) {
      if (!min || !max)
        invalid("MinCapacity and MaxCapacity are required to register a new scalable target");
      target.emplace();
      target->resource = place.resource;
      target->dimension = place.dimension;
      target->id = id;
      target->created_ms = now_ms;
    }
    if (min) target->min = *min;
    if (max) target->max = *max;
    if (target->max < target->min) invalid("Maximum capacity cannot be less than minimum capacity");
    if (const auto suspended = json::member(request.body, "SuspendedState")) {
      const auto flag = [&](std::string_view name, bool& value) {
        value = json::bool_member(*suspended, name).value_or(value);
      };
      flag("DynamicScalingInSuspended", target->in_suspended);
      flag("DynamicScalingOutSuspended", target->out_suspended);
      flag("ScheduledScalingSuspended", target->schedule_suspended);
    }
  };
  auto pending = context.scaling.change(place.resource, place.dimension, change);
  const auto changed = co_await pending;
  std::string out;
  json::Object answer(out);
  answer.string("ScalableTargetARN", target_arn(context, *changed));
  answer.close();
  co_return out;
}

Task<std::string> deregister_scalable_target(Request& request) {
  check_shape(request);
  const ScalingPlace place = read_scaling_place(request);
  const catalog::Scaling::Change change = [&](std::optional<ScalableTarget>& target) {
    if (!target) throw ApiError("ObjectNotFoundException", no_target(place));
    target.reset();  // and with it its policies
  };
  auto pending = request.context.scaling.change(place.resource, place.dimension, change);
  co_await pending;
  co_return "{}";
}

Task<std::string> describe_scalable_targets(Request& request) {
  const Context& context = request.context;
  check_shape(request);
  const ScalingFilter filter = read_scaling_filter(request);
  std::vector<catalog::TargetPtr> targets;
  if (is_dynamodb(request)) targets = context.scaling.targets();
  std::erase_if(targets, [&](const auto& target) {
    return !filter.matches(target->resource, target->dimension);
  });
  std::vector<std::string> names;
  for (const auto& target : targets) names.push_back(target->resource + '\0' + target->dimension);
  const ScalingPage page = read_scaling_page(request, names);
  std::string out;
  json::Object answer(out);
  json::Array list(answer.key("ScalableTargets"));
  for (size_t i = page.begin; i < page.end; ++i) {
    const ScalableTarget& target = *targets[i];
    json::Object one(list.element());
    append_scaling_place(one, target.resource, target.dimension);
    one.integer("MinCapacity", target.min);
    one.integer("MaxCapacity", target.max);
    one.string("RoleARN", role_arn(context));
    append_timestamp(one.key("CreationTime"), target.created_ms);
    json::Object suspended(one.key("SuspendedState"));
    suspended.boolean("DynamicScalingInSuspended", target.in_suspended);
    suspended.boolean("DynamicScalingOutSuspended", target.out_suspended);
    suspended.boolean("ScheduledScalingSuspended", target.schedule_suspended);
    suspended.close();
    one.string("ScalableTargetARN", target_arn(context, target));
    one.close();
  }
  list.close();
  if (!page.next_token.empty()) answer.string("NextToken", page.next_token);
  answer.close();
  co_return out;
}

Task<std::string> describe_scaling_activities(Request& request) {
  check_shape(request);
  const ScalingFilter filter = read_scaling_filter(request);
  std::vector<catalog::ScalingActivity> activities;
  if (is_dynamodb(request)) activities = request.context.scaling.activities();
  std::erase_if(activities,
                [&](const auto& one) { return !filter.matches(one.resource, one.dimension); });
  std::vector<std::string> names;
  for (const auto& activity : activities) names.push_back(activity.id);
  const ScalingPage page = read_scaling_page(request, names);
  std::string out;
  json::Object answer(out);
  json::Array list(answer.key("ScalingActivities"));
  for (size_t i = page.begin; i < page.end; ++i) {
    const catalog::ScalingActivity& activity = activities[i];
    json::Object one(list.element());
    one.string("ActivityId", activity.id);
    append_scaling_place(one, activity.resource, activity.dimension);
    one.string("Description", activity.description);
    one.string("Cause", activity.cause);
    append_timestamp(one.key("StartTime"), activity.started_ms);
    append_timestamp(one.key("EndTime"), activity.ended_ms);
    one.string("StatusCode", "Successful");
    one.string("StatusMessage", activity.message);
    one.close();
  }
  list.close();
  if (!page.next_token.empty()) answer.string("NextToken", page.next_token);
  answer.close();
  co_return out;
}

}  // namespace stator::ops
