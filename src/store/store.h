// Reading and changing items. One change becomes the base item, its index entries and counters in
// one batch; there is no second path that writes items.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "capacity/insights.h"
#include "catalog/catalog.h"
#include "common/clock.h"
#include "common/task.h"
#include "engine/engine.h"
#include "expr/expr.h"
#include "model/codec.h"
#include "model/error.h"
#include "model/schema.h"
#include "model/value.h"

namespace stator::store {

inline constexpr size_t kMaxItemBytes = 400 * 1024;
inline constexpr size_t kMaxPageBytes = 1024 * 1024;
inline constexpr int64_t kMaxCollectionBytes = 10LL * 1024 * 1024 * 1024;

// One thing to do to one item.
struct Write {
  enum class Kind { kPut, kUpdate, kDelete, kCheck };
  Kind kind = Kind::kPut;
  catalog::TablePtr table;
  model::Item item;  // kPut: the new item; the others: its key
  std::optional<expr::Condition> condition;
  expr::Update update;  // kUpdate
  // PartiQL's UPDATE and DELETE change only what is there; its INSERT only what is not.
  enum class Presence { kAny, kMustExist, kMustNotExist };
  Presence presence = Presence::kAny;
  model::Origin origin = model::Origin::kClient;  // the service's own deletions say so in streams
  size_t item_size_bytes = 0;                     // kPut: size of the item
  bool want_old = false;  // the result has the old item (it always has with a failed condition)
  bool want_new = false;  // kUpdate: the result has the new item
};

// Units a write cost, by where.
struct WriteUnits {
  double table = 0;
  std::vector<double> indexes;  // in the order of the schema's indexes
};

struct WriteResult {
  enum class Kind { kDone, kConditionFailed, kMissing, kDuplicate };
  Kind kind = Kind::kDone;
  std::optional<model::Item> old_item;
  std::optional<model::Item> new_item;
  WriteUnits units;
  size_t size_bytes = 0;  // of the item after the write; before it if there is none after
  int64_t collection_bytes =
      0;  // of the item's collection, before this write; 0 without local indexes
  // A change that this item refuses (wrong operand type, too large): an error of its own in a
  // transaction.
  std::optional<ApiError> error;

  bool done() const { return kind == Kind::kDone && !error; }
};

// The result of several writes that happen together.
struct TransactionResult {
  enum class Kind {
    kCommitted,
    kCancelled,  // at least one result is not done()
    kConflict,   // with somebody who held an item for too long
    kRefused,    // by the inspection of the extra keys; nothing was written
  };
  Kind kind = Kind::kCommitted;
  std::vector<WriteResult> results;  // one for each write, with kCommitted and kCancelled
};

// What a Query or Scan reads, in the engine's terms.
struct ReadPlan {
  catalog::TablePtr table;
  const model::Index* index = nullptr;  // points into the table's schema
  engine::Range range;
  engine::Direction direction = engine::Direction::kForward;
  std::optional<size_t> limit;  // items to look at
  // Reads each item of an index from the table, for attributes that the index does not project.
  bool fetch_items = false;
};

// One item that was read.
struct Found {
  std::string_view encoded;  // see model/codec.h: decode_item
  size_t size_bytes = 0;     // of what was read: the item or its entry in the index
};

struct PageEnd {
  size_t scanned = 0;
  size_t size_bytes = 0;    // read in table or index
  double fetch_units = 0;   // for items fetched from the table, consistent
  std::string last_key;     // engine key of the last row looked at
  std::string last_record;  // and its value
  bool more = false;        // the page ended before the range did
};

// Thread-safe.
class Store {
 public:
  Store(engine::Engine& engine, catalog::Catalog& catalog, const Clock& clock);

  // The encoded record of an item (see model/codec.h: read_header), or nothing.
  Task<std::optional<std::string>> get(catalog::TablePtr table, model::Item key);
  // Several records from one consistent view, in order. Keys may be of different tables.
  struct Key {
    catalog::TablePtr table;
    model::Item key;
  };
  Task<std::vector<std::optional<std::string>>> get_many(std::vector<Key> keys);

  // Reads a page: calls `visit` for each item in order until the plan's limit, 1 MB or the end of
  // the range.
  Task<PageEnd> read(ReadPlan plan, std::function<void(const Found&)> visit);

  // Throws ApiError as the operation must answer it: what the item refuses, a table that went away,
  // a conflict with a transaction. A failed condition is a result.
  Task<WriteResult> write(Write write);
  // A record that is held together with the items of a transaction: its idempotency token.
  struct Companion {
    std::string key;
    // Sees what the record holds before the writes run; false refuses the transaction. May throw,
    // may run again.
    std::function<bool(const std::optional<std::string>& value)> inspect;
    // Adds to the batch of a transaction that is about to commit.
    std::function<void(const std::vector<WriteResult>& results, engine::Batch& batch)> finish;
  };
  // All or nothing.
  Task<TransactionResult> transact(std::vector<Write> writes,
                                   std::optional<Companion> companion = std::nullopt);
  // Puts and deletions without conditions, of different items, each as write() would make it but
  // many in one commit. Throws like write(); then some of them may have happened. `writes` stays
  // where it is until then.
  Task<std::vector<WriteResult>> write_each(std::span<Write> writes);

  // Background work on items as a view showed them. Each change is made under the item's own latch,
  // from what the item is by then, so that writers go on meanwhile; what a writer has done already
  // is left alone. `cursor_key` is put to `cursor` in the same commit. False if the table or the
  // index is gone.
  //
  // Times that are due: from_s <= time < until_s.
  struct DueTimes {
    int64_t from_s = 0;
    int64_t until_s = 0;
    bool has(int64_t time_s) const { return from_s <= time_s && time_s < until_s; }
  };
  // Makes the entries of `items` in an index that is being built.
  Task<bool> build_entries(catalog::TablePtr table, model::IndexNumber index,
                           std::vector<model::Item> items, std::string cursor_key,
                           std::string cursor);
  // Queues those of `items` that expire; deletes at once what is due.
  Task<bool> queue_expiring(catalog::TablePtr table, std::vector<model::Item> items,
                            DueTimes due_times, std::string cursor_key, std::string cursor);
  // A row of the queue of items that expire.
  struct Due {
    model::Item key;
    int64_t expiry_s = 0;
    std::string queue_row;
  };
  // Deletes the items that expire when their rows say so, all in one commit, and the rows of those
  // that do not any more. Says how many rows, from the first on, it came to: large items are left
  // for another commit.
  Task<size_t> expire(catalog::TablePtr table, std::vector<Due> due);
  // Erases a range of keys that nobody writes to: the table's schema has changed so that nobody
  // does.
  Task<void> erase(model::TableNumber table, engine::Range range);

  // The first version whose stream records can still be read.
  Task<uint64_t> stream_horizon();

  // Items and bytes of a table, or of one of its indexes, as of now.
  struct Size {
    int64_t items = 0;
    int64_t bytes = 0;
  };
  // The table's first (with index number 0), then one for each index in the schema's order.
  Task<std::vector<Size>> sizes(const model::TableSchema& table);

  // Erases all data of a table that no request can write to any more.
  Task<void> erase_table(model::TableNumber table);

  engine::Engine& engine() { return engine_; }
  catalog::Catalog& catalog() { return catalog_; }
  const Clock& clock() const { return clock_; }
  // Which keys are used most. The store counts what is accessed; who refuses a request counts what
  // is throttled.
  capacity::Insights& insights() { return insights_; }

 private:
  void count_access(const Write& write);
  // One commit of all `writes`. `kind` is what others see who meet it.
  Task<TransactionResult> write_together(std::span<Write> writes, engine::ChangeKind kind,
                                         std::optional<Companion> companion);

  engine::Engine& engine_;
  catalog::Catalog& catalog_;
  const Clock& clock_;
  capacity::Insights insights_;
  std::mutex horizon_mutex_;
  int64_t horizon_s_ = -1;  // when the horizon was looked up
  uint64_t horizon_ = 0;
};

// Throws what the service says about an item whose index keys have a wrong type or are empty. Of a
// put item.
void check_index_keys(const model::TableSchema& table, const model::Item& item);

}  // namespace stator::store
