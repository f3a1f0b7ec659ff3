// Keys:
//   m s t <resource> 00 <dimension>    a scalable target with its policies
//   m s a <time> <number>              an activity: when it began (ms), and a number that tells two
//   apart
#include "catalog/scaling.h"

#include <algorithm>
#include <deque>
#include <map>
#include <mutex>
#include <shared_mutex>

#include "catalog/records.h"
#include "common/bytes.h"
#include "common/ids.h"
#include "json/reader.h"
#include "json/writer.h"

namespace stator::catalog {

namespace {

constexpr char kRecordVersion = 1;
constexpr std::string_view kTargets = "mst";
constexpr std::string_view kActivities = "msa";
constexpr std::string_view kTable = "table/";
constexpr std::string_view kIndex = "/index/";

using json::Element;

std::string target_name(std::string_view resource, std::string_view dimension) {
  return std::string(resource) + '\0' + std::string(dimension);
}

void write_optional(json::Object& object, std::string_view name,
                    const std::optional<int64_t>& value) {
  if (value) object.integer(name, *value);
}

std::string encode(const ScalableTarget& target) {
  std::string out(1, kRecordVersion);
  json::Object object(out);
  object.string("resource", target.resource);
  object.string("dimension", target.dimension);
  object.string("id", target.id);
  object.integer("min", target.min);
  object.integer("max", target.max);
  object.integer("created_ms", target.created_ms);
  object.boolean("out_suspended", target.out_suspended);
  object.boolean("in_suspended", target.in_suspended);
  object.boolean("schedule_suspended", target.schedule_suspended);
  object.integer("last_out_ms", target.last_out_ms);
  object.integer("last_in_ms", target.last_in_ms);
  json::Array policies(object.key("policies"));
  for (const ScalingPolicy& policy : target.policies) {
    json::Object one(policies.element());
    one.string("name", policy.name);
    one.string("id", policy.id);
    one.number("target_percent", policy.target_percent);
    write_optional(one, "scale_out_cooldown_s", policy.scale_out_cooldown_s);
    write_optional(one, "scale_in_cooldown_s", policy.scale_in_cooldown_s);
    if (policy.disable_scale_in) one.boolean("disable_scale_in", *policy.disable_scale_in);
    one.integer("created_ms", policy.created_ms);
    one.close();
  }
  policies.close();
  object.close();
  return out;
}

std::string encode(const ScalingActivity& activity) {
  std::string out(1, kRecordVersion);
  json::Object object(out);
  object.string("id", activity.id);
  object.string("resource", activity.resource);
  object.string("dimension", activity.dimension);
  object.string("description", activity.description);
  object.string("cause", activity.cause);
  object.string("message", activity.message);
  object.integer("started_ms", activity.started_ms);
  object.integer("ended_ms", activity.ended_ms);
  object.close();
  return out;
}

json::Document open_record(std::string_view record) {
  json::Document document;
  if (record.empty() || record.front() != kRecordVersion)
    throw CorruptRecord("scaling record: unknown version");
  if (!document.parse(std::string(record.substr(1))))
    throw CorruptRecord("scaling record: not JSON");
  return document;
}

std::string text(const Element& element, std::string_view name) {
  const auto value = json::string_member(element, name);
  if (!value) throw CorruptRecord("scaling record: no text " + std::string(name));
  return std::string(*value);
}

int64_t number(const Element& element, std::string_view name) {
  const auto value = json::int_member(element, name);
  if (!value) throw CorruptRecord("scaling record: no number " + std::string(name));
  return *value;
}

double decimal(const Element& element, std::string_view name) {
  const auto value = json::member(element, name);
  double decimal = 0;
  if (!value || value->get(decimal) != simdjson::SUCCESS) {
    throw CorruptRecord("scaling record: no number " + std::string(name));
  }
  return decimal;
}

ScalableTarget decode_target(std::string_view record) {
  const json::Document document = open_record(record);
  const Element root = document.root();
  ScalableTarget target;
  target.resource = text(root, "resource");
  target.dimension = text(root, "dimension");
  target.id = text(root, "id");
  target.min = number(root, "min");
  target.max = number(root, "max");
  target.created_ms = number(root, "created_ms");
  target.out_suspended = json::bool_member(root, "out_suspended").value_or(false);
  target.in_suspended = json::bool_member(root, "in_suspended").value_or(false);
  target.schedule_suspended = json::bool_member(root, "schedule_suspended").value_or(false);
  target.last_out_ms = number(root, "last_out_ms");
  target.last_in_ms = number(root, "last_in_ms");
  const auto policies = json::array_member(root, "policies");
  if (!policies) throw CorruptRecord("scaling record: no policies");
  for (const Element one : *policies) {
    ScalingPolicy policy;
    policy.name = text(one, "name");
    policy.id = text(one, "id");
    policy.target_percent = decimal(one, "target_percent");
    policy.scale_out_cooldown_s = json::int_member(one, "scale_out_cooldown_s");
    policy.scale_in_cooldown_s = json::int_member(one, "scale_in_cooldown_s");
    policy.disable_scale_in = json::bool_member(one, "disable_scale_in");
    policy.created_ms = number(one, "created_ms");
    target.policies.push_back(std::move(policy));
  }
  return target;
}

ScalingActivity decode_activity(std::string_view record) {
  const json::Document document = open_record(record);
  const Element root = document.root();
  return {.id = text(root, "id"),
          .resource = text(root, "resource"),
          .dimension = text(root, "dimension"),
          .description = text(root, "description"),
          .cause = text(root, "cause"),
          .message = text(root, "message"),
          .started_ms = number(root, "started_ms"),
          .ended_ms = number(root, "ended_ms")};
}

}  // namespace

std::string ScalableTarget::table() const {
  const std::string_view rest = std::string_view(resource).substr(kTable.size());
  return std::string(rest.substr(0, rest.find('/')));
}

std::string ScalableTarget::index() const {
  const size_t at = resource.find(kIndex);
  return at == std::string::npos ? std::string() : resource.substr(at + kIndex.size());
}

// Changes of one target may be told of out of order; the commit's version says which one is newest,
// also of a target that is gone.
struct Scaling::State {
  struct Entry {
    TargetPtr target;  // null: gone
    uint64_t version = 0;
  };
  mutable std::shared_mutex mutex;
  std::map<std::string, Entry, std::less<>> targets;
  std::map<std::string, ScalingActivity> activities;
  RandomIds ids;

  void keep(const std::string& name, TargetPtr target, uint64_t version) {
    const std::unique_lock lock(mutex);
    Entry& entry = targets[name];
    if (entry.version > version) return;
    entry = {std::move(target), version};
    if (targets.size() <= 2 * kMaxTargets) return;
    std::erase_if(targets,
                  [&](const auto& other) { return !other.second.target && other.first != name; });
  }
};

void check_scaling_record(std::string_view key, std::string_view value) {
  if (key.starts_with(kTargets)) {
    decode_target(value);
  } else if (key.starts_with(kActivities)) {
    decode_activity(value);
  } else {
    throw CorruptRecord("scaling record of an unknown kind");
  }
}

Scaling::Scaling(engine::Engine& engine) : engine_(engine), state_(std::make_unique<State>()) {
  each_record(engine_, kTargets, [&](std::string_view name, std::string_view value) {
    state_->keep(std::string(name), std::make_shared<const ScalableTarget>(decode_target(value)),
                 0);
  });
  each_record(engine_, kActivities, [&](std::string_view rest, std::string_view value) {
    state_->activities.emplace(std::string(kActivities).append(rest), decode_activity(value));
  });
}

Scaling::~Scaling() = default;

Task<engine::Outcome> Scaling::commit(
    std::vector<std::string> keys, std::function<void(const engine::Held&, engine::Batch&)> body) {
  return commit_records(engine_, state_->ids, "a scalable target", std::move(keys),
                        std::move(body));
}

TargetPtr Scaling::find(std::string_view resource, std::string_view dimension) const {
  const std::shared_lock lock(state_->mutex);
  const auto at = state_->targets.find(target_name(resource, dimension));
  return at != state_->targets.end() ? at->second.target : nullptr;
}

std::vector<TargetPtr> Scaling::targets() const {
  std::vector<TargetPtr> targets;
  const std::shared_lock lock(state_->mutex);
  for (const auto& [name, entry] : state_->targets) {
    if (entry.target) targets.push_back(entry.target);
  }
  return targets;
}

Task<TargetPtr> Scaling::change(std::string resource, std::string dimension, Change change) {
  const std::string name = target_name(resource, dimension);
  const std::string key = std::string(kTargets) + name;
  TargetPtr changed;
  const std::function<void(const engine::Held&, engine::Batch&)> body =
      [&](const engine::Held& held, engine::Batch& batch) {
        changed = nullptr;
        const auto& record = held.exclusive(0);
        std::optional<ScalableTarget> target;
        if (record) target = decode_target(*record);
        change(target);
        if (target) {
          batch.put(key, encode(*target));
          changed = std::make_shared<const ScalableTarget>(std::move(*target));
        } else if (record) {
          batch.erase(key);
        }
      };
  std::vector<std::string> keys{key};
  auto pending = commit(std::move(keys), body);
  const engine::Outcome outcome = co_await pending;
  state_->keep(name, changed, outcome.version);
  co_return changed;
}

std::vector<ScalingActivity> Scaling::activities() const {
  std::vector<ScalingActivity> newest_first;
  const std::shared_lock lock(state_->mutex);
  for (auto at = state_->activities.rbegin(); at != state_->activities.rend(); ++at) {
    newest_first.push_back(at->second);
  }
  return newest_first;
}

Task<void> Scaling::record(ScalingActivity activity) {
  std::string key(kActivities);
  append_big_endian(key, static_cast<uint64_t>(activity.started_ms));
  append_big_endian(key, state_->ids.number());
  std::vector<std::string> keys{key};
  {
    const std::shared_lock lock(state_->mutex);
    auto oldest = state_->activities.begin();
    for (size_t count = state_->activities.size(); count >= kMaxActivities; --count)
      keys.push_back((oldest++)->first);
  }
  const std::string value = encode(activity);
  const std::function<void(const engine::Held&, engine::Batch&)> body = [&](const engine::Held&,
                                                                            engine::Batch& batch) {
    batch.put(keys[0], value);
    for (size_t i = 1; i < keys.size(); ++i) batch.erase(keys[i]);
  };
  auto pending = commit(keys, body);
  co_await pending;
  const std::unique_lock lock(state_->mutex);
  for (size_t i = 1; i < keys.size(); ++i) state_->activities.erase(keys[i]);
  state_->activities.emplace(keys[0], std::move(activity));
}

}  // namespace stator::catalog
