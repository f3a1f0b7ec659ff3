// A row of history: its key says which item, its value when the change was made (microseconds, 8
// bytes) and what the item was: nothing, or 1 and its stored record.
#include "store/history.h"

#include <algorithm>

#include "common/bytes.h"
#include "model/codec.h"
#include "model/key_codec.h"

namespace stator::store {

namespace {

constexpr int kMaxViews = 64;
constexpr engine::ScanLimit kDayChunk{.rows = 512, .bytes = 128 * 1024};
constexpr size_t kItemChunkRows = 2048;
// A page ends after so many rows even if it has found nothing to show.
constexpr size_t kMaxLooks = 50'000;

std::string_view content(std::string_view record) {
  model::read_header(record);
  return record;
}

struct Row {
  int64_t written_us = 0;
  std::optional<std::string_view> record;
};

Row read_row(std::string_view value) {
  Row row;
  row.written_us = static_cast<int64_t>(read_big_endian<uint64_t>(value));
  if (value.empty()) return row;
  if (value.front() != 1) throw CorruptRecord("row of history of an unknown form");
  row.record = value.substr(1);
  return row;
}

// A change is dated before it is committed, and so may be found on the day before. It does not wait
// for as long as this, though.
constexpr int64_t kLongestCommit_s = 60 * 60;

uint32_t first_day_of(int64_t second) {
  return day_of(std::max<int64_t>(0, second - kLongestCommit_s));
}

// What one day's history says about one item.
struct Said {
  uint64_t first_version = UINT64_MAX;  // of the first change from `begin` on
  std::optional<std::string> first;     // what the item was before it
  uint64_t end_version = UINT64_MAX;    // of the first change from `end` on
  std::optional<std::string> at_end;
  int64_t written_us = 0;  // of the last change before `end`
  uint64_t last_version = 0;

  // Takes what another day says about the same item. Days overlap a little: a change is dated
  // before it is committed.
  void merge(Said&& other) {
    if (other.first_version < first_version) {
      first_version = other.first_version;
      first = std::move(other.first);
    }
    if (other.end_version < end_version) {
      end_version = other.end_version;
      at_end = std::move(other.at_end);
    }
    if (other.last_version > last_version) {
      last_version = other.last_version;
      written_us = other.written_us;
    }
  }
};

// Goes through one day's history, item by item, and says what happened from version `begin` on and
// what from `end` on. Items that only changed before have their turn too: a reader who goes through
// items and history side by side then never reads further than it has to.
class DayCursor {
 public:
  DayCursor(engine::View& view, std::string day_prefix, uint64_t begin, uint64_t end)
      : view_(&view), prefix_(std::move(day_prefix)), begin_(begin), end_(end) {}

  // To the first item at or after `from`.
  Task<void> seek(std::string_view from) {
    next_row_ = prefix_;
    if (!from.empty()) {
      model::append_history_item(next_row_, from);
      next_row_.resize(next_row_.size() - 2);  // a longer item may begin with `from`
    }
    auto filling = fill();
    co_await filling;
    auto advancing = advance();
    co_await advancing;
  }

  bool valid() const { return valid_; }
  const std::string& item() const { return item_; }
  Said& said() { return said_; }
  size_t looks() const { return looks_; }

  Task<void> advance() {
    valid_ = at_ < rows_.size();
    if (!valid_) co_return;
    said_ = Said();
    const model::HistoryKey key = model::read_history_key(rows_.key(at_));
    item_ = key.item_rest;
    item_rows_.assign(rows_.key(at_).substr(0, key.item_end));
    bool done = false;
    while (at_ < rows_.size() && rows_.key(at_).starts_with(item_rows_)) {
      ++looks_;
      if (!done) done = look(rows_.key(at_), rows_.value(at_));
      ++at_;
      if (at_ < rows_.size() || !rows_.more()) continue;
      // The item may have more rows than were read: straight to those that matter.
      next_row_ = item_rows_;
      if (done) {
        next_row_.back() = '\2';  // behind the last row of this item
      } else {
        const uint64_t wanted = said_.last_version == 0 ? begin_ : said_.last_version + 1;
        append_big_endian(next_row_, wanted);
      }
      auto filling = fill();
      co_await filling;
    }
  }

 private:
  // True if no further row of the item matters.
  bool look(std::string_view key, std::string_view value) {
    key.remove_prefix(item_rows_.size());
    const auto version = read_big_endian<uint64_t>(key);
    if (version < begin_) return false;
    const Row row = read_row(value);
    if (version >= end_) {
      said_.end_version = version;
      if (row.record) said_.at_end = std::string(*row.record);
      return true;
    }
    if (said_.first_version == UINT64_MAX) {
      said_.first_version = version;
      if (row.record) said_.first = std::string(*row.record);
    }
    said_.last_version = version;
    said_.written_us = row.written_us;
    return end_ == UINT64_MAX;
  }

  Task<void> fill() {
    auto scanning =
        view_->scan({next_row_, prefix_end(prefix_)}, engine::Direction::kForward, kDayChunk);
    rows_ = co_await scanning;
    at_ = 0;
    if (rows_.more()) {
      next_row_.assign(rows_.key(rows_.size() - 1));
      next_row_.push_back('\0');
    }
  }

  engine::View* view_;
  std::string prefix_;
  uint64_t begin_;
  uint64_t end_;
  engine::Rows rows_;
  size_t at_ = 0;
  std::string next_row_;
  bool valid_ = false;
  std::string item_;
  std::string item_rows_;  // the prefix of its rows
  Said said_;
  size_t looks_ = 0;
};

// All days of a table's history, merged.
class HistoryCursor {
 public:
  // Opens every day that has history from `past.first_day` on. Found by looking, not by the clock,
  // which may have been set.
  Task<void> open(engine::View& view, const Past& past, uint64_t end, std::string_view from) {
    if (past.era == 0) co_return;
    const std::string era_end = prefix_end(model::history_prefix(past.table, past.era));
    uint32_t day = past.first_day;
    for (;;) {
      auto scanning = view.scan({model::history_prefix(past.table, past.era, day), era_end},
                                engine::Direction::kForward, {.rows = 1, .bytes = 1});
      const engine::Rows rows = co_await scanning;
      if (rows.empty()) break;
      day = model::day_in_history_key(rows.key(0));
      days_.emplace_back(view, model::history_prefix(past.table, past.era, day), past.cut, end);
      ++day;
    }
    for (DayCursor& cursor : days_) {
      auto seeking = cursor.seek(from);
      co_await seeking;
    }
    collect();
  }

  bool valid() const { return valid_; }
  const std::string& item() const { return item_; }
  Said& said() { return said_; }
  size_t looks() const {
    size_t looks = 0;
    for (const DayCursor& cursor : days_) looks += cursor.looks();
    return looks;
  }

  Task<void> advance() {
    for (DayCursor& cursor : days_) {
      if (!cursor.valid() || cursor.item() != item_) continue;
      auto advancing = cursor.advance();
      co_await advancing;
    }
    collect();
  }

 private:
  void collect() {
    const DayCursor* least = nullptr;
    for (const DayCursor& cursor : days_) {
      if (cursor.valid() && (least == nullptr || cursor.item() < least->item())) least = &cursor;
    }
    valid_ = least != nullptr;
    if (!valid_) return;
    item_ = least->item();
    said_ = Said();
    for (DayCursor& cursor : days_) {
      if (cursor.valid() && cursor.item() == item_) said_.merge(std::move(cursor.said()));
    }
  }

  std::vector<DayCursor> days_;
  bool valid_ = false;
  std::string item_;
  Said said_;
};

std::string behind(std::string_view key) {
  std::string next(key);
  next.push_back('\0');
  return next;
}

bool is_full(const engine::Rows& rows, const engine::ScanLimit& limit) {
  return rows.size() >= limit.rows || rows.bytes() >= limit.bytes;
}

Task<PastChanges> read_changes(engine::View& view, Past past, uint64_t end, std::string from,
                               engine::ScanLimit limit) {
  PastChanges page;
  HistoryCursor history;
  auto opening = history.open(view, past, end, from);
  co_await opening;
  const std::string prefix = model::items_prefix(past.table);
  std::vector<std::string> current;  // keys of those that did not change after `end`
  std::vector<size_t> current_of;
  size_t bytes = 0;
  while (history.valid()) {
    Said& said = history.said();
    if (said.first_version < end) {
      PastChange change;
      change.key = history.item();
      change.before = std::move(said.first);
      change.written_us = said.written_us;
      if (said.end_version != UINT64_MAX) {
        change.after = std::move(said.at_end);
      } else {
        current.push_back(prefix + change.key);
        current_of.push_back(page.changes.size());
      }
      bytes += change.key.size() + (change.before ? change.before->size() : 0) +
               (change.after ? change.after->size() : 0);
      page.changes.push_back(std::move(change));
    }
    const std::string next = behind(history.item());
    auto advancing = history.advance();
    co_await advancing;
    const bool full = page.changes.size() >= limit.rows || bytes >= limit.bytes ||
                      current.size() >= kDayChunk.rows;
    if (full || history.looks() >= kMaxLooks) {
      page.next = next;
      break;
    }
  }
  auto getting = view.get_many(current);
  auto values = co_await getting;
  for (size_t i = 0; i < values.size(); ++i)
    page.changes[current_of[i]].after = std::move(values[i]);
  co_return page;
}

}  // namespace

void check_history_row(std::string_view key, std::string_view value) {
  model::read_history_key(key);
  const Row row = read_row(value);
  if (row.record) model::decode_record(*row.record);
}

void write_history(const model::TableSchema& table, std::optional<std::string_view> old,
                   const std::optional<std::string>& fresh, const std::string& item_key,
                   int64_t now_us, engine::Batch& batch) {
  if (!old && !fresh) return;
  if (old && fresh && content(*old) == content(*fresh)) return;
  std::string key =
      model::history_prefix(table.number, table.history_era, day_of(now_us / 1'000'000));
  model::append_history_item(key, std::string_view(item_key).substr(model::kItemsPrefixBytes));
  std::string value;
  value.reserve(9 + (old ? old->size() : 0));
  append_big_endian(value, static_cast<uint64_t>(now_us));
  if (old) {
    value.push_back(1);
    value.append(*old);
  }
  batch.append(std::move(key), std::move(value));
}

Task<Past> past_at(engine::Engine& engine, const model::TableSchema& table, int64_t second) {
  Past past;
  past.table = table.number;
  past.era = table.history_era;
  past.first_day = first_day_of(second);
  auto looking = engine.version_at(second);
  past.cut = co_await looking;
  co_return past;
}

Past past_now(engine::Engine& engine, const model::TableSchema& table, int64_t now_s) {
  return {.table = table.number,
          .era = table.history_era,
          .first_day = first_day_of(now_s),
          .cut = engine.committed_version() + 1};
}

Task<PastPage> read_past(engine::View& view, Past past, std::string from, engine::ScanLimit limit) {
  PastPage page;
  HistoryCursor history;
  auto opening = history.open(view, past, UINT64_MAX, from);
  co_await opening;
  const std::string prefix = model::items_prefix(past.table);
  engine::Range range{prefix + from, prefix_end(prefix)};
  engine::Rows rows;
  size_t at = 0;
  bool more = true;
  size_t looks = 0;
  for (;;) {
    if (at == rows.size() && more) {
      const engine::ScanLimit chunk{.rows = std::min(kItemChunkRows, limit.rows),
                                    .bytes = limit.bytes};
      auto scanning = view.scan(range, engine::Direction::kForward, chunk);
      rows = co_await scanning;
      at = 0;
      more = rows.more();
      if (more) range.begin = behind(rows.key(rows.size() - 1));
    }
    const bool has_item = at < rows.size();
    if (!has_item && !history.valid()) break;
    std::string_view item;
    if (has_item) item = rows.key(at).substr(prefix.size());
    // What history says comes before what is there now.
    if (history.valid() && (!has_item || history.item() <= item)) {
      const bool both = has_item && history.item() == item;
      const Said& said = history.said();
      if (said.first) {
        page.items.append(history.item(), *said.first);
      } else if (both && said.first_version == UINT64_MAX) {
        page.items.append(item, rows.value(at));  // not changed since
      }
      std::string next = behind(history.item());
      if (both) ++at;
      auto advancing = history.advance();
      co_await advancing;
      if (is_full(page.items, limit) || looks + history.looks() >= kMaxLooks) {
        page.next = std::move(next);
        break;
      }
      continue;
    }
    page.items.append(item, rows.value(at));
    ++at;
    ++looks;
    if (is_full(page.items, limit) || looks + history.looks() >= kMaxLooks) {
      page.next = behind(item);
      break;
    }
  }
  co_return page;
}

Task<PastPage> read_past(engine::Engine& engine, Past past, std::string from,
                         engine::ScanLimit limit) {
  for (int views = 1;; ++views) {
    const auto view = engine.view();
    try {
      auto reading = read_past(*view, past, from, limit);
      co_return co_await reading;
    } catch (const engine::ViewExpired&) {
      if (views == kMaxViews) throw;
    }
  }
}

Task<PastChanges> read_changes(engine::Engine& engine, Past past, uint64_t end, std::string from,
                               engine::ScanLimit limit) {
  for (int views = 1;; ++views) {
    const auto view = engine.view();
    try {
      auto reading = read_changes(*view, past, end, from, limit);
      co_return co_await reading;
    } catch (const engine::ViewExpired&) {
      if (views == kMaxViews) throw;
    }
  }
}

}  // namespace stator::store
