// Target tracking, as the service does it: capacity rises when more than the target was used in
// each of the last two minutes, and falls when much less was used in each of the last fifteen, if
// anything was.
#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <set>

#include "common/ids.h"
#include "work/jobs.h"

namespace stator::work {

namespace {

constexpr size_t kMinutesOut = 2;
constexpr size_t kMinutesIn = 15;
constexpr double kSecondsInMinute = 60;
constexpr double kMarginPercent = 20;  // below the target by that much, capacity may fall

using capacity::Consumption;
using catalog::ScalableTarget;

// Units of whole minutes, of which the last few are kept.
class Usage {
 public:
  // `total`: all units since the place is watched.
  void sample(double total, int64_t now_s) {
    const auto minute = static_cast<int64_t>(now_s / 60);
    if (!started_) {
      started_ = true;
      minute_ = minute;
    }
    // Watched anew, so counted from 0 again.
    const double fresh = total >= last_total_ ? total - last_total_ : total;
    last_total_ = total;
    if (minute > minute_) {
      add(in_minute_);
      for (int64_t i = std::max(minute_ + 1, minute - static_cast<int64_t>(kMinutesIn)); i < minute;
           ++i)
        add(0);
      in_minute_ = 0;
      minute_ = minute;
    }
    in_minute_ += fresh;
  }
  void forget() { minutes_.clear(); }

  // Units a second in each of the last `count` minutes, the newest last; nothing if there are not
  // so many yet.
  std::vector<double> last(size_t count) const {
    if (minutes_.size() < count) return {};
    return {minutes_.end() - static_cast<std::ptrdiff_t>(count), minutes_.end()};
  }

 private:
  void add(double units) {
    minutes_.push_back(units / kSecondsInMinute);
    if (minutes_.size() > kMinutesIn) minutes_.pop_front();
  }

  bool started_ = false;
  int64_t minute_ = 0;
  double last_total_ = 0;
  double in_minute_ = 0;
  std::deque<double> minutes_;
};

struct Decision {
  int64_t units = 0;
  std::string cause;
  bool by_policy = false;
};

class Follow final : public Job {
 public:
  Follow(Site site, catalog::Scaling& scaling, Consumption& consumption)
      : site_(site), scaling_(scaling), consumption_(consumption) {}
  const char* name() const override { return "scaling capacity"; }

  bool step() override {
    const auto targets = scaling_.targets();
    std::map<Consumption::Place, Usage> usage;
    std::set<Consumption::Place> places;
    std::vector<std::pair<catalog::TargetPtr, catalog::TablePtr>> found;
    for (const auto& target : targets) {
      auto table = site_.catalog.find(target->table());
      if (!table || !capacity_of(*table, *target)) continue;
      const auto place = place_of(*table, *target);
      places.insert(place);
      usage[place] = std::move(usage_[place]);
      found.emplace_back(target, std::move(table));
    }
    usage_ = std::move(usage);
    if (!places.empty() || consumption_.active()) consumption_.watch(places);
    for (const auto& [target, table] : found) follow(*target, *table);
    return false;
  }

 private:
  // Null unless the table or index is there and its capacity is provisioned.
  template <typename Table>
  static auto capacity_of(Table& table, const ScalableTarget& target) -> decltype(&table.capacity) {
    if (table.billing != catalog::BillingMode::kProvisioned || table.deleted_at_ms) return nullptr;
    const std::string name = target.index();
    if (name.empty()) return &table.capacity;
    const auto& indexes = table.schema->indexes;
    for (size_t i = 0; i < indexes.size(); ++i) {
      if (indexes[i].name == name && indexes[i].global && !indexes[i].building)
        return &table.index_capacity[i];
    }
    return nullptr;
  }

  static Consumption::Place place_of(const catalog::Table& table, const ScalableTarget& target) {
    Consumption::Place place{table.schema->number, 0, target.writes()};
    for (const model::Index& index : table.schema->indexes) {
      if (index.name == target.index()) place.index = index.number;
    }
    return place;
  }

  static int64_t units_of(const catalog::Capacity& capacity, const ScalableTarget& target) {
    return target.writes() ? capacity.provisioned.write_units : capacity.provisioned.read_units;
  }

  void follow(const ScalableTarget& target, const catalog::Table& table) {
    const int64_t now_ms = site_.clock.now_ms();
    const auto place = place_of(table, target);
    Usage& usage = usage_[place];
    usage.sample(consumption_.total(place), now_ms / 1000);
    if (table.state(now_ms) != catalog::TableState::kActive) return;
    const catalog::Capacity& capacity = *capacity_of(table, target);
    const auto decision = decide(target, capacity, usage, now_ms);
    if (!decision) return;
    if (!apply(target, table.name(), decision->units, now_ms)) return;
    usage.forget();
    note(target, units_of(capacity, target), *decision, now_ms);
  }

  static std::optional<Decision> decide(const ScalableTarget& target,
                                        const catalog::Capacity& capacity, const Usage& usage,
                                        int64_t now_ms) {
    const int64_t current = units_of(capacity, target);
    const bool may_lower = catalog::may_lower(capacity, now_ms);
    if (current < target.min) {
      return Decision{target.min, "minimum capacity was set to " + std::to_string(target.min)};
    }
    if (current > target.max) {
      if (!may_lower) return std::nullopt;
      return Decision{target.max, "maximum capacity was set to " + std::to_string(target.max)};
    }
    std::optional<Decision> chosen;
    for (const catalog::ScalingPolicy& policy : target.policies) {
      const auto wanted = wanted_by(policy, target, current, usage, now_ms, may_lower);
      if (wanted && (!chosen || wanted->units > chosen->units)) chosen = wanted;
    }
    return chosen;
  }

  static std::optional<Decision> wanted_by(const catalog::ScalingPolicy& policy,
                                           const ScalableTarget& target, int64_t current,
                                           const Usage& usage, int64_t now_ms, bool may_lower) {
    const double share = policy.target_percent / 100;
    const auto capacity_for = [&](double rate) {
      return std::clamp(static_cast<int64_t>(std::ceil(rate / share)), target.min, target.max);
    };
    const auto cooled = [&](int64_t since_ms, const std::optional<int64_t>& cooldown_s) {
      return now_ms - since_ms >= cooldown_s.value_or(0) * 1000;
    };
    const auto units = static_cast<double>(current);

    const auto recent = usage.last(kMinutesOut);
    const bool high =
        !recent.empty() && std::all_of(recent.begin(), recent.end(),
                                       [&](double rate) { return rate > units * share; });
    if (high && !target.out_suspended && cooled(target.last_out_ms, policy.scale_out_cooldown_s)) {
      const int64_t wanted = capacity_for(*std::max_element(recent.begin(), recent.end()));
      if (wanted > current) return Decision{wanted, alarm(target, policy, "AlarmHigh"), true};
    }

    if (policy.disable_scale_in.value_or(false) || target.in_suspended || !may_lower)
      return std::nullopt;
    const auto window = usage.last(kMinutesIn);
    if (window.empty()) return std::nullopt;
    const double low =
        units * std::max(policy.target_percent - kMarginPercent, policy.target_percent / 2) / 100;
    const double most = *std::max_element(window.begin(), window.end());
    // The service does not lower the capacity of what nobody uses.
    if (most <= 0 || most >= low) return std::nullopt;
    const int64_t last_ms = std::max(target.last_in_ms, target.last_out_ms);
    const int64_t wanted = capacity_for(most);
    if (wanted >= current || !cooled(last_ms, policy.scale_in_cooldown_s)) return std::nullopt;
    return Decision{wanted, alarm(target, policy, "AlarmLow"), true};
  }

  static std::string alarm(const ScalableTarget& target, const catalog::ScalingPolicy& policy,
                           const char* kind) {
    return "monitor alarm TargetTracking-" + target.resource + "-" + kind + "-" + policy.id +
           " in state ALARM triggered policy " + policy.name;
  }

  // False if the table is not what it was any more.
  bool apply(const ScalableTarget& target, const std::string& name, int64_t units, int64_t now_ms) {
    bool applied = false;
    const std::function<void(catalog::Table&)> change = [&](catalog::Table& table) {
      applied = false;
      if (table.state(now_ms) != catalog::TableState::kActive) return;
      catalog::Capacity* capacity = capacity_of(table, target);
      if (capacity == nullptr) return;
      table.capacity.changing = false;
      for (auto& other : table.index_capacity) other.changing = false;
      if (table.encryption) table.encryption->changing = false;
      const auto provisioned = capacity->provisioned;
      catalog::provision(*capacity, target.writes() ? provisioned.read_units : units,
                         target.writes() ? units : provisioned.write_units, now_ms);
      table.updating_until_ms = now_ms + site_.catalog.options().table_delay_ms;
      applied = true;
    };
    const auto updated = run_blocking(site_.catalog.update(name, change));
    return updated && applied;
  }

  void note(const ScalableTarget& target, int64_t before, const Decision& decision,
            int64_t now_ms) {
    const bool out = decision.units > before;
    const std::string what = std::string(target.writes() ? "write" : "read") +
                             " capacity units to " + std::to_string(decision.units) + ".";
    run_blocking(scaling_.record(
        {.id = ids_.uuid(),
         .resource = target.resource,
         .dimension = target.dimension,
         .description = "Setting " + what,
         .cause = decision.cause,
         .message = "Successfully set " + what + " Change successfully fulfilled by dynamodb.",
         .started_ms = now_ms,
         .ended_ms = now_ms}));
    if (!decision.by_policy) return;
    const catalog::Scaling::Change change = [&](std::optional<ScalableTarget>& changed) {
      if (changed) (out ? changed->last_out_ms : changed->last_in_ms) = now_ms;
    };
    run_blocking(scaling_.change(target.resource, target.dimension, change));
  }

  Site site_;
  catalog::Scaling& scaling_;
  Consumption& consumption_;
  RandomIds ids_;
  std::map<Consumption::Place, Usage> usage_;
};

}  // namespace

std::unique_ptr<Job> make_scaling(Site site, catalog::Scaling& scaling, Consumption& consumption) {
  return std::make_unique<Follow>(site, scaling, consumption);
}

}  // namespace stator::work
