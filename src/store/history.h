// What a table was. While a table keeps history, every change of an item leaves what the item was
// before, in the commit of the change itself; so the table just before any version is what it holds
// now, with the items that changed since put back. That is true in every later view, which is why a
// reader of the past may take as many views as it likes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/task.h"
#include "engine/engine.h"
#include "model/schema.h"

namespace stator::store {

inline constexpr int64_t kDay_s = 24LL * 60 * 60;
inline uint32_t day_of(int64_t second) {
  return static_cast<uint32_t>(second / kDay_s);
}

// Part of a change: leaves the stored form of what `item_key` was (nothing if it was not there).
// A write that changes nothing leaves nothing.
void write_history(const model::TableSchema& table, std::optional<std::string_view> old,
                   const std::optional<std::string>& fresh, const std::string& item_key,
                   int64_t now_us, engine::Batch& batch);

// Throws CorruptRecord if a row of history cannot be read.
void check_history_row(std::string_view key, std::string_view value);

// A table just before a version.
struct Past {
  model::TableNumber table = 0;
  uint32_t era = 0;  // of its history; 0: nothing changes it, its items are what they were
  // Day from which history is read: that of the second which `cut` is the first version of, or the
  // day before if that was just over, since writers date a change before it is committed.
  uint32_t first_day = 0;
  uint64_t cut = 0;
};

// The table at the beginning of `second`. Whoever wants to read it for long keeps what is returned
// and holds the table (catalog::Catalog::hold): so it reads the same after a restart.
Task<Past> past_at(engine::Engine& engine, const model::TableSchema& table, int64_t second);
// The table with everything that is committed by now.
Past past_now(engine::Engine& engine, const model::TableSchema& table, int64_t now_s);

// Items in the order of their keys. Keys are what follows the table's prefix (model::items_prefix)
// in an item's key, values are stored records (model/codec.h).
struct PastPage {
  engine::Rows items;
  // Where the next page begins; nothing if this was the last. A page may be empty and not the last.
  std::optional<std::string> next;
};
// A page from `from` on (empty: from the first item), of about `limit` at most.
Task<PastPage> read_past(engine::Engine& engine, Past past, std::string from,
                         engine::ScanLimit limit);
// The same from one view, for a table that nothing changes; throws ViewExpired like the view.
Task<PastPage> read_past(engine::View& view, Past past, std::string from, engine::ScanLimit limit);

// An item that changed between two versions.
struct PastChange {
  std::string key;  // as in PastPage
  std::optional<std::string>
      before;  // stored record just before the first version, if there was one
  std::optional<std::string> after;  // and just before the second
  int64_t written_us = 0;            // when it was last changed in between
};
struct PastChanges {
  std::vector<PastChange> changes;  // in the order of keys
  std::optional<std::string> next;
};
// Items that changed from version `past.cut` on and before version `end`. One that is as it was
// before is told of too: it was changed and changed back.
Task<PastChanges> read_changes(engine::Engine& engine, Past past, uint64_t end, std::string from,
                               engine::ScanLimit limit);

}  // namespace stator::store
