#include <algorithm>

#include "common/bytes.h"
#include "model/codec.h"
#include "model/key_codec.h"
#include "work/jobs.h"

namespace stator::work {

namespace {

constexpr size_t kRowsAtOnce = 256;
constexpr int kRoundsAtOnce = 16;
// The service leaves items alone whose time is longer ago than that.
constexpr int64_t kOldest_s = 5LL * 365 * 24 * 60 * 60;

class Expiry final : public Job {
 public:
  Expiry(Site site, int64_t delay_s) : site_(site), delay_s_(delay_s) {}
  const char* name() const override { return "deleting expired items"; }

  bool step() override {
    bool more = false;
    for (const auto& table : site_.catalog.list({}, SIZE_MAX)) {
      if (table->deleted_at_ms || table->schema->ttl_attribute.empty()) continue;
      more = sweep(table) || more;
    }
    return more;
  }

 private:
  // True if there is more that is due.
  bool sweep(const catalog::TablePtr& table) {
    const model::TableNumber number = table->schema->number;
    for (int round = 0; round < kRoundsAtOnce; ++round) {
      const int64_t now_s = site_.clock.now_s() - delay_s_;
      engine::Range due{model::expiry_prefix(number), model::expiry_prefix(number)};
      append_big_endian(due.begin, static_cast<uint64_t>(std::max<int64_t>(0, now_s - kOldest_s)));
      append_big_endian(due.end, static_cast<uint64_t>(std::max<int64_t>(0, now_s)));
      engine::Rows rows;
      try {
        const auto view = site_.store.engine().view();
        rows = run_blocking(
            view->scan(due, engine::Direction::kForward, {.rows = kRowsAtOnce, .bytes = SIZE_MAX}));
      } catch (const engine::ViewExpired&) {
        continue;
      }
      if (rows.empty()) return false;
      std::vector<Task<bool>> under_way;
      for (size_t i = 0; i < rows.size(); ++i) {
        std::string_view encoded = rows.value(i);
        model::Item key = model::decode_value(encoded).as_map();
        under_way.push_back(site_.store.expire(
            table, std::move(key), model::expiry_in_key(rows.key(i)), std::string(rows.key(i))));
      }
      run_blocking(when_all(std::move(under_way)));
    }
    return true;
  }

  Site site_;
  int64_t delay_s_;
};

}  // namespace

std::unique_ptr<Job> make_expiry(Site site, int64_t delay_s) {
  return std::make_unique<Expiry>(site, delay_s);
}

}  // namespace stator::work
