// What Application Auto Scaling was asked to do: scalable targets with their policies, and what was
// done for them. Kept in the engine, mirrored in memory like the catalog itself.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/task.h"
#include "engine/engine.h"

namespace stator::catalog {

// Target tracking: capacity such that `target_percent` of it is used.
struct ScalingPolicy {
  std::string name;
  std::string id;  // a UUID
  double target_percent = 70;
  std::optional<int64_t> scale_out_cooldown_s;
  std::optional<int64_t> scale_in_cooldown_s;
  std::optional<bool> disable_scale_in;
  int64_t created_ms = 0;
};

// A capacity that may be scaled: of a table or a global index, for reads or for writes.
struct ScalableTarget {
  std::string resource;   // "table/Orders" or "table/Orders/index/by_date"
  std::string dimension;  // "dynamodb:table:ReadCapacityUnits", ...
  std::string id;
  int64_t min = 0;
  int64_t max = 0;
  int64_t created_ms = 0;
  bool out_suspended = false;
  bool in_suspended = false;
  bool schedule_suspended = false;  // kept and shown; there are no schedules
  int64_t last_out_ms = 0;
  int64_t last_in_ms = 0;
  std::vector<ScalingPolicy> policies;

  std::string table() const;
  std::string index() const;  // empty for a table
  bool writes() const { return dimension.ends_with(":WriteCapacityUnits"); }
};

struct ScalingActivity {
  std::string id;
  std::string resource;
  std::string dimension;
  std::string description;
  std::string cause;
  std::string message;
  int64_t started_ms = 0;
  int64_t ended_ms = 0;
};

using TargetPtr = std::shared_ptr<const ScalableTarget>;

// Throws CorruptRecord if a record below "ms" cannot be read.
void check_scaling_record(std::string_view key, std::string_view value);

// Thread-safe.
class Scaling {
 public:
  static constexpr size_t kMaxTargets = 5000;
  static constexpr size_t kMaxActivities = 1000;  // older ones are forgotten

  // Reads everything from the engine. Throws engine::EngineError or CorruptRecord.
  explicit Scaling(engine::Engine& engine);
  ~Scaling();

  // Null if there is none.
  TargetPtr find(std::string_view resource, std::string_view dimension) const;
  // Sorted by resource, then dimension.
  std::vector<TargetPtr> targets() const;
  // Replaces a target by what `change` makes of its newest state; nothing means that there is none.
  // It may throw to refuse, and may run more than once. Throws engine::EngineError if the engine
  // cannot write.
  using Change = std::function<void(std::optional<ScalableTarget>&)>;
  Task<TargetPtr> change(std::string resource, std::string dimension, Change change);

  // Newest first.
  std::vector<ScalingActivity> activities() const;
  Task<void> record(ScalingActivity activity);

 private:
  struct State;
  Task<engine::Outcome> commit(std::vector<std::string> keys,
                               std::function<void(const engine::Held&, engine::Batch&)> body);

  engine::Engine& engine_;
  std::unique_ptr<State> state_;
};

}  // namespace stator::catalog
