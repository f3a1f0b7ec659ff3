#include <algorithm>
#include <chrono>
#include <map>

#include "common/bytes.h"
#include "model/codec.h"
#include "model/key_codec.h"
#include "work/due_times.h"
#include "work/jobs.h"
#include "work/pace.h"

namespace stator::work {

namespace {

constexpr size_t kRoundRows = 1024;  // read and committed at once
// Between two passes there is so many times what one took to read, but not more than that.
constexpr int kRestOfReading = 20;
constexpr std::chrono::seconds kLongestRest{2};

class Expiry final : public Job {
 public:
  Expiry(Site site, int64_t delay_s) : site_(site), delay_s_(delay_s) {}
  const char* name() const override { return "deleting expired items"; }

  bool step() override {
    bool more = false;
    std::map<model::TableNumber, Pass> passes;
    for (const auto& table : site_.catalog.list({}, SIZE_MAX)) {
      if (table->deleted_at_ms || table->schema->ttl_attribute.empty()) continue;
      Pass& pass = passes[table->schema->number];
      pass = std::move(passes_[table->schema->number]);
      more = sweep(table, pass) || more;
    }
    passes_ = std::move(passes);
    return more;
  }

 private:
  using Time = std::chrono::steady_clock;

  // A pass over the rows of one table that are due. It goes on where it was, because a reader pays
  // for rows that were erased. At its end it waits for later times; what has come in behind it is
  // for the next pass.
  struct Pass {
    std::string from;
    bool at_end = false;
    Time::duration reading{0};
    Time::time_point next{};  // when the next pass begins

    void begin_again() { *this = Pass(); }
    void end(std::string behind_all) {
      from = std::move(behind_all);
      if (!at_end)
        next = Time::now() + std::min<Time::duration>(kRestOfReading * reading, kLongestRest);
      at_end = true;
    }
  };

  // True if there is more that is due.
  bool sweep(const catalog::TablePtr& table, Pass& pass) {
    const model::TableNumber number = table->schema->number;
    if (pass.at_end && Time::now() >= pass.next) pass.begin_again();
    Pace pace(site_.activity);
    while (pace.goes_on()) {
      const auto times = due_times(site_.clock, delay_s_);
      engine::Range due{model::expiry_prefix(number), model::expiry_prefix(number)};
      append_big_endian(due.begin, static_cast<uint64_t>(times.from_s));
      append_big_endian(due.end, static_cast<uint64_t>(times.until_s));
      due.begin = std::max(due.begin, pass.from);
      const auto begin = Time::now();
      const engine::Rows rows = read(due);
      pass.reading += Time::now() - begin;
      if (rows.empty()) {
        pass.end(std::move(due.end));
        return false;
      }
      pass.from = expire(table, rows);
    }
    return true;
  }

  engine::Rows read(const engine::Range& due) {
    for (;;) {
      try {
        const auto view = site_.store.engine().view();
        return run_blocking(
            view->scan(due, engine::Direction::kForward, {.rows = kRoundRows, .bytes = SIZE_MAX}));
      } catch (const engine::ViewExpired&) {
        continue;
      }
    }
  }

  // Returns the row to go on from.
  std::string expire(const catalog::TablePtr& table, const engine::Rows& rows) {
    std::vector<store::Store::Due> due;
    due.reserve(rows.size());
    for (size_t i = 0; i < rows.size(); ++i) {
      std::string_view encoded = rows.value(i);
      due.push_back({model::decode_value(encoded).as_map(), model::expiry_in_key(rows.key(i)),
                     std::string(rows.key(i))});
    }
    const size_t done = run_blocking(site_.store.expire(table, std::move(due)));
    if (done < rows.size()) return std::string(rows.key(done));
    return std::string(rows.key(rows.size() - 1)) + '\0';
  }

  Site site_;
  const int64_t delay_s_;
  std::map<model::TableNumber, Pass> passes_;
};

}  // namespace

std::unique_ptr<Job> make_expiry(Site site, int64_t delay_s) {
  return std::make_unique<Expiry>(site, delay_s);
}

}  // namespace stator::work
