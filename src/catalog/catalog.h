// The tables of this database. Kept in the engine, mirrored in memory: looking a table up costs a
// hash look-up, and a request works on the immutable Table that it found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/stream.h"
#include "catalog/table.h"
#include "common/clock.h"
#include "common/task.h"
#include "engine/engine.h"

namespace stator::catalog {

// The guard of a table's schema in the engine. Writers of items hold it shared and check that its
// value is the version of the schema they work with; a schema change holds it alone. The value is
// the version, 8 bytes big-endian; no value means that the table is gone or on its way out.
std::string schema_guard_key(model::TableNumber table);
std::string encode_schema_version(uint64_t version);

struct CatalogOptions {
  std::string region;
  std::string account;
  int64_t table_delay_ms = 0;         // how long CREATING, UPDATING and DELETING last
  int64_t stream_shards = 4;          // of a new stream
  int64_t ttl_change_interval_s = 0;  // least time between two changes of a table's time to live
};

// Thread-safe.
class Catalog {
 public:
  // Reads everything from the engine. Throws engine::EngineError or CorruptRecord.
  Catalog(engine::Engine& engine, const Clock& clock, CatalogOptions options);
  ~Catalog();

  // The table of that name in whatever state but kGone; null if there is none.
  TablePtr find(std::string_view name) const;
  // Those whose names come after `after`, sorted by name, without those that are gone; at most
  // `limit`.
  std::vector<TablePtr> list(std::string_view after = {}, size_t limit = SIZE_MAX) const;

  // Gives the table (and its indexes) numbers, id, ARN, creation time and state, and keeps it. Null
  // if the name is taken. `table.schema` holds all but numbers and version; an id that the table
  // has already is kept, and so is kNotYet as the time it is ready. The three changes throw
  // engine::EngineError if the engine cannot write or others hold the table for too long.
  Task<TablePtr> create(Table table);
  // Replaces a table by what `change` makes of its newest state (it may throw to refuse; it may run
  // more than once). The schema version rises if `change` installed another schema; indexes in it
  // with number 0 get new numbers. Null if the table is gone.
  Task<TablePtr> update(std::string name, std::function<void(Table&)> change);
  // Marks the table as deleting and gives it back; after the delay it is gone. No writer of items
  // commits after this. `check` may throw to refuse. Null if there is no such table. Its data is
  // erased in the background: see garbage. `also` adds to the same commit.
  using Addition = std::function<void(const Table&, engine::Batch&)>;
  Task<TablePtr> remove(std::string name, std::function<void(const Table&)> check,
                        Addition also = nullptr);

  // While a Hold of a table lives, its data and history stay although the table is deleted or keeps
  // no history any more: somebody reads its past. A table that is being restored holds its source
  // by itself. Work that goes on after a restart holds again before background work begins.
  class Hold {
   public:
    Hold() = default;
    Hold(Catalog& catalog, model::TableNumber table);
    Hold(Hold&& other) noexcept;
    Hold& operator=(Hold&& other) noexcept;
    ~Hold();

   private:
    Catalog* catalog_ = nullptr;
    model::TableNumber table_ = 0;
  };
  bool is_held(model::TableNumber table) const;
  struct HeldTable {
    TablePtr table;  // null if there is none
    Hold hold;
  };
  // Holds a table and looks at it after every change that was begun before: history that it keeps
  // then, it keeps until it is let go.
  Task<HeldTable> hold(std::string name);

  // Numbers of tables that are gone but whose data is still there, which no request can write to
  // any more and nobody holds. The caller erases the data and then says so.
  std::vector<model::TableNumber> garbage() const;
  Task<void> garbage_erased(model::TableNumber table);

  // As find, but of what is committed, for a writer who saw a schema change before it was told
  // here.
  Task<TablePtr> reload(std::string name);

  // The streams of tables, those of the last day included. The first changes a table's schema, so
  // that no writer who knows the shards from before commits after it.
  StreamPtr find_stream(std::string_view arn) const;
  StreamPtr find_stream(StreamId id) const;
  // In the order of their ARNs; hidden ones too.
  std::vector<StreamPtr> streams() const;
  // Closes the open shards of a stream and opens their children: see roll_shards. False if the
  // stream is not open.
  Task<bool> roll_stream(StreamId id, int64_t shards);
  // Nothing is left of these shards. If none remains and the stream is over, of the stream neither.
  Task<void> forget_shards(StreamId id, std::vector<model::ShardNumber> shards);

  const CatalogOptions& options() const { return options_; }
  std::string table_arn(std::string_view name) const;

 private:
  struct State;
  using Body = std::function<void(const engine::Held&, engine::Batch&)>;
  void load();
  void check_layout();
  void note_layout();
  void load_streams(uint64_t version);
  struct StreamChanges;
  void follow_settings(Table& table, model::TableSchema& schema, engine::Batch& batch,
                       StreamChanges& changes) const;
  Task<void> settle(std::vector<Stream> streams, uint64_t version);
  Task<engine::Outcome> commit(std::vector<std::string> keys, Body body);

  engine::Engine& engine_;
  const Clock& clock_;
  CatalogOptions options_;
  std::unique_ptr<State> state_;
  // Waits for its end, also where the constructor throws. Last, since it uses the others.
  struct Noting {
    ~Noting();
    std::future<void> ended;
  };
  Noting layout_;
};

}  // namespace stator::catalog
