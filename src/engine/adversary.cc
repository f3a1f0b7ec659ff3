#include "engine/adversary.h"

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "common/thread_pool.h"
#include "engine/limits.h"

namespace stator::engine {

namespace {

constexpr std::chrono::seconds kViewLife{5};

// What the adversary and its views share.
class Fate {
 public:
  explicit Fate(const AdversaryOptions& options) : options_(options), random_(options.seed) {}

  const AdversaryOptions& options() const { return options_; }
  bool happens(double probability) {
    const std::lock_guard lock(mutex_);
    return std::uniform_real_distribution<double>(0, 1)(random_) < probability;
  }
  ThreadPool& elsewhere() { return elsewhere_; }

 private:
  const AdversaryOptions options_;
  std::mutex mutex_;
  std::mt19937_64 random_;
  ThreadPool elsewhere_{"adversary", 2};
};

// Suspends, now and then. Goes on on the executor it was called on, or on a thread of the adversary
// if there is none.
Task<void> maybe_suspend(Fate& fate) {
  if (!fate.happens(fate.options().suspend_probability)) co_return;
  Executor* const home = Executor::current();
  SwitchTo away(&fate.elsewhere());
  co_await away;
  SwitchTo back(home == &fate.elsewhere() ? nullptr : home);
  co_await back;
}

class AdversaryView final : public View {
 public:
  AdversaryView(std::unique_ptr<View> inner, Fate& fate)
      : inner_(std::move(inner)), fate_(fate), end_(std::chrono::steady_clock::now() + kViewLife) {}

  Task<std::optional<std::string>> get(std::string_view key) override {
    check_key(key);
    maybe_expire();
    Task<void> suspend = maybe_suspend(fate_);
    co_await suspend;
    Task<std::optional<std::string>> get = inner_->get(key);
    std::optional<std::string> value = co_await get;
    co_return value;
  }

  Task<std::vector<std::optional<std::string>>> get_many(
      const std::vector<std::string>& keys) override {
    for (const std::string& key : keys) check_key(key);
    maybe_expire();
    Task<void> suspend = maybe_suspend(fate_);
    co_await suspend;
    Task<std::vector<std::optional<std::string>>> get = inner_->get_many(keys);
    std::vector<std::optional<std::string>> values = co_await get;
    co_return values;
  }

  Task<Rows> scan(Range range, Direction direction, ScanLimit limit) override {
    if (range.begin.size() > kMaxKeyBytes + 1 || range.end.size() > kMaxKeyBytes + 1) {
      throw EngineError("a bound of a scan is above the engine's limit of " +
                        std::to_string(kMaxKeyBytes));
    }
    maybe_expire();
    Task<void> suspend = maybe_suspend(fate_);
    co_await suspend;
    Task<Rows> scan = inner_->scan(std::move(range), direction, limit);
    Rows rows = co_await scan;
    co_return rows;
  }

 private:
  void maybe_expire() {
    if (fate_.happens(fate_.options().expire_probability) ||
        std::chrono::steady_clock::now() > end_) {
      throw ViewExpired("the view is too old");
    }
  }

  const std::unique_ptr<View> inner_;
  Fate& fate_;
  const std::chrono::steady_clock::time_point end_;
};

class Adversary final : public Engine {
 public:
  Adversary(std::unique_ptr<Engine> inner, const AdversaryOptions& options)
      : fate_(options), inner_(std::move(inner)) {}

  std::unique_ptr<View> view() override {
    return std::make_unique<AdversaryView>(inner_->view(), fate_);
  }

  Task<Outcome> mutate(Mutation mutation) override {
    check_limits(mutation);
    Task<void> suspend = maybe_suspend(fate_);
    co_await suspend;
    if (fate_.happens(fate_.options().conflict_probability)) {
      Outcome outcome;
      outcome.kind = Outcome::Kind::kConflict;
      outcome.holder = fate_.happens(0.5) ? ChangeKind::kTransaction : ChangeKind::kSingle;
      co_return outcome;
    }
    mutation.body = [body = std::move(mutation.body), &fate = fate_](const Held& held,
                                                                     Batch& batch) {
      while (fate.happens(fate.options().rerun_probability)) {
        body(held, batch);
        check_limits(batch);
        batch.clear();
      }
      body(held, batch);
      check_limits(batch);
    };
    Task<Outcome> change = inner_->mutate(std::move(mutation));
    Outcome outcome = co_await change;
    Task<void> suspend_again = maybe_suspend(fate_);
    co_await suspend_again;
    co_return outcome;
  }

  uint64_t committed_version() override { return inner_->committed_version(); }
  Task<uint64_t> version_at(int64_t second) override { return inner_->version_at(second); }
  void reclaim(Range range) override { inner_->reclaim(std::move(range)); }
  std::string failure() const override { return inner_->failure(); }
  void write_metrics(metrics::Text& text) override { inner_->write_metrics(text); }

 private:
  Fate fate_;
  std::unique_ptr<Engine> inner_;
};

}  // namespace

std::unique_ptr<Engine> make_adversary(std::unique_ptr<Engine> inner, AdversaryOptions options) {
  return std::make_unique<Adversary>(std::move(inner), options);
}

}  // namespace stator::engine
