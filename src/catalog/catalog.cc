// Keys, all below 'm':
//   m v             version of this layout
//   m a             the last table number given
//   m n <name>      the record of the table with that name; after its end, until its data is
//                   erased, still there
//   m g <number>    the schema guard
//   m d <number>    a deleted table whose data is to be erased: when it is gone (8 bytes), and its
//                   name
//   m r <number> <stream>   a stream with its shards
#include "catalog/catalog.h"

#include <algorithm>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <unordered_map>
#include <utility>

#include "catalog/records.h"
#include "catalog/table_codec.h"
#include "common/bytes.h"
#include "common/ids.h"

namespace stator::catalog {

namespace {

constexpr char kLayoutVersion = 1;
constexpr int kMaxTimeouts = 2;

std::string layout_key() {
  return "mv";
}
std::string allocation_key() {
  return "ma";
}
std::string name_key(std::string_view name) {
  return "mn" + std::string(name);
}
std::string garbage_key(model::TableNumber table) {
  std::string key = "md";
  append_big_endian<uint64_t>(key, table);
  return key;
}

struct NameHash {
  using is_transparent = void;
  size_t operator()(std::string_view name) const { return std::hash<std::string_view>{}(name); }
};

}  // namespace

std::string schema_guard_key(model::TableNumber table) {
  std::string key = "mg";
  append_big_endian<uint64_t>(key, table);
  return key;
}

std::string encode_schema_version(uint64_t version) {
  std::string value;
  append_big_endian<uint64_t>(value, version);
  return value;
}

// The mirror. Changes of one table may be told of out of order; the commit's version says which one
// is newest.
struct Catalog::State {
  struct Entry {
    TablePtr table;
    uint64_t version = 0;
  };
  struct Garbage {
    int64_t gone_at_ms = 0;
    std::string name;
  };

  mutable std::shared_mutex mutex;
  std::unordered_map<std::string, Entry, NameHash, std::equal_to<>> by_name;
  std::map<std::string, TablePtr, std::less<>> sorted;
  std::map<model::TableNumber, Garbage> garbage;
  std::map<model::TableNumber, int> holds;

  // With the mutex held.
  bool is_held(model::TableNumber number) const {
    if (holds.contains(number)) return true;
    return std::any_of(sorted.begin(), sorted.end(), [&](const auto& entry) {
      const auto& restore = entry.second->restore;
      return restore && restore->frozen.empty() && restore->table == number;
    });
  }

  struct StreamEntry {
    StreamPtr stream;
    uint64_t version = 0;
  };
  std::map<StreamId, StreamEntry> streams;
  std::map<std::string, StreamId, std::less<>> stream_by_arn;
  RandomIds ids;

  void keep(Stream stream, uint64_t version) {
    const std::unique_lock lock(mutex);
    StreamEntry& entry = streams[stream.id];
    if (entry.stream && entry.version > version) return;
    stream_by_arn[stream.arn] = stream.id;
    entry = {std::make_shared<const Stream>(std::move(stream)), version};
  }

  void forget(StreamId id) {
    const std::unique_lock lock(mutex);
    const auto found = streams.find(id);
    if (found == streams.end()) return;
    stream_by_arn.erase(found->second.stream->arn);
    streams.erase(found);
  }

  void keep(TablePtr table, uint64_t version) {
    const std::unique_lock lock(mutex);
    if (table->deleted_at_ms)
      garbage[table->schema->number] = {*table->deleted_at_ms, table->name()};
    Entry& entry = by_name[table->name()];
    if (entry.table && entry.version > version) return;
    entry.version = version;
    entry.table = table;
    sorted[table->name()] = std::move(table);
  }

  void forget(model::TableNumber number) {
    const std::unique_lock lock(mutex);
    const auto found = garbage.find(number);
    if (found == garbage.end()) return;
    const auto entry = by_name.find(found->second.name);
    if (entry != by_name.end() && entry->second.table->schema->number == number) {
      sorted.erase(found->second.name);
      by_name.erase(entry);
    }
    garbage.erase(found);
  }
};

Catalog::Catalog(engine::Engine& engine, const Clock& clock, CatalogOptions options)
    : engine_(engine),
      clock_(clock),
      options_(std::move(options)),
      state_(std::make_unique<State>()) {
  load();
}

Catalog::~Catalog() = default;

Catalog::Noting::~Noting() {
  if (ended.valid()) ended.wait();
}

// A version byte is checked before anything else is read.
void Catalog::check_layout() {
  std::optional<std::string> layout;
  each_record(engine_, layout_key(), [&](std::string_view rest, std::string_view value) {
    if (rest.empty()) layout = value;
  });
  if (!layout) return note_layout();
  if (*layout != std::string(1, kLayoutVersion))
    throw engine::EngineError("the database was written by a newer version of Stator");
}

// Nobody waits for this flush at the start. Where it fails, the next start makes up for it.
void Catalog::note_layout() {
  auto noted = std::make_shared<std::promise<void>>();
  layout_.ended = noted->get_future();
  start(commit({layout_key()},
               [](const engine::Held&, engine::Batch& batch) {
                 batch.put(layout_key(), std::string(1, kLayoutVersion));
               }),
        [noted](std::exception_ptr, const auto&) { noted->set_value(); });
}

void Catalog::load() {
  check_layout();
  const uint64_t version = engine_.committed_version();
  each_record(engine_, "mn", [&](std::string_view name, std::string_view record) {
    auto table = std::make_shared<const Table>(decode_table(record));
    if (table->name() != name) throw CorruptRecord("table record under another table's name");
    state_->keep(std::move(table), version);
  });
  each_record(engine_, "md", [&](std::string_view key, std::string_view value) {
    const auto number = read_big_endian<uint64_t>(key);
    const auto gone_at_ms = read_big_endian<int64_t>(value);
    state_->garbage[number] = {gone_at_ms, std::string(value)};
  });
  each_record(engine_, "mr", [&](std::string_view, std::string_view record) {
    state_->keep(decode_stream(record), version);
  });
  load_streams(version);
}

// A commit that opened or closed shards was perhaps not followed by the one that notes its version.
void Catalog::load_streams(uint64_t version) {
  const auto edge = [&](const Stream& stream, const Shard& shard, engine::Direction direction) {
    const std::string prefix = shard_prefix(stream.id, shard.number);
    for (int tries = 1;; ++tries) {
      try {
        const auto view = engine_.view();
        const engine::Rows rows =
            run_blocking(view->scan({prefix, prefix_end(prefix)}, direction, {.rows = 1}));
        if (rows.empty()) return version;
        std::string_view rest = rows.key(0).substr(prefix.size());
        return read_big_endian<uint64_t>(rest);
      } catch (const engine::ViewExpired&) {
        if (tries == kMaxRecordTries) throw;
      }
    }
  };
  for (const StreamPtr& known : streams()) {
    Stream stream = *known;
    bool repaired = false;
    for (Shard& shard : stream.shards) {
      if (shard.opened_version == 0) {
        shard.opened_version = edge(stream, shard, engine::Direction::kForward);
        repaired = true;
      }
      if (shard.closed_ms && shard.closed_version == 0) {
        shard.closed_version = edge(stream, shard, engine::Direction::kBackward);
        repaired = true;
      }
    }
    if (!repaired) continue;
    const auto outcome = run_blocking(
        commit({stream_key(stream.id)}, [&](const engine::Held&, engine::Batch& batch) {
          batch.put(stream_key(stream.id), encode_stream(stream));
        }));
    state_->keep(std::move(stream), outcome.version);
  }
}

Task<engine::Outcome> Catalog::commit(std::vector<std::string> keys, Body body) {
  return commit_records(engine_, state_->ids, "the catalog", std::move(keys), std::move(body),
                        kMaxTimeouts);
}

TablePtr Catalog::find(std::string_view name) const {
  TablePtr table;
  {
    const std::shared_lock lock(state_->mutex);
    const auto found = state_->by_name.find(name);
    if (found == state_->by_name.end()) return nullptr;
    table = found->second.table;
  }
  // Only a deleted table needs the clock.
  if (table->deleted_at_ms && table->state(clock_.now_ms()) == TableState::kGone) return nullptr;
  return table;
}

std::vector<TablePtr> Catalog::list(std::string_view after, size_t limit) const {
  std::vector<TablePtr> tables;
  const int64_t now_ms = clock_.now_ms();
  const std::shared_lock lock(state_->mutex);
  for (auto next = state_->sorted.upper_bound(after);
       next != state_->sorted.end() && tables.size() < limit; ++next) {
    if (next->second->state(now_ms) != TableState::kGone) tables.push_back(next->second);
  }
  return tables;
}

std::string Catalog::table_arn(std::string_view name) const {
  return "arn:aws:dynamodb:" + options_.region + ":" + options_.account + ":table/" +
         std::string(name);
}

namespace {

// A schema as it is kept: with its numbers and version.
std::shared_ptr<const model::TableSchema> number_schema(const model::TableSchema& asked,
                                                        model::TableNumber number, uint64_t version,
                                                        model::IndexNumber& last_index_number) {
  auto schema = std::make_shared<model::TableSchema>(asked);
  schema->number = number;
  schema->version = version;
  for (auto& index : schema->indexes) {
    if (index.number == 0) index.number = ++last_index_number;
    complete_projection(index, schema->key);
  }
  return schema;
}

// The records of the streams that writers of this table know of.
std::vector<std::string> capture_keys(const model::TableSchema& schema) {
  std::vector<std::string> keys;
  for (const model::Capture& capture : schema.captures)
    keys.push_back(stream_key({schema.number, capture.stream}));
  return keys;
}

// Whether the table's settings ask for other streams than are open.
bool asks_other_streams(const Table& table) {
  bool own = false;
  bool hidden = false;
  for (const model::Capture& capture : table.schema->captures)
    (capture.hidden ? hidden : own) = true;
  const bool wants_own = table.stream && table.stream->enabled;
  return wants_own != own || table.hidden_stream != hidden ||
         (wants_own && table.stream->label.empty());
}

// Says in the logs of the shards what happens to them.
void write_shard_edges(const Stream& before, const Stream& after, engine::Batch& batch) {
  for (const Shard& shard : after.shards) {
    const Shard* known = before.find_shard(shard.number);
    if (known == nullptr)
      batch.append(shard_prefix(after.id, shard.number), std::string(kShardOpened));
    if (shard.closed_ms && (known == nullptr || !known->closed_ms))
      batch.append(shard_prefix(after.id, shard.number), std::string(kShardClosed));
  }
  batch.put(stream_key(after.id), encode_stream(after));
}

}  // namespace

// What happens to streams in one run of a body.
struct Catalog::StreamChanges {
  std::map<StreamId, Stream> open;  // those that were open before
  std::vector<Stream> changed;
  int64_t now_ms = 0;

  // From the records held from `first` on, in the order of capture_keys.
  void read(const model::TableSchema& schema, const engine::Held& held, size_t first) {
    open.clear();
    changed.clear();
    for (size_t i = 0; i < schema.captures.size(); ++i) {
      const auto& record = held.exclusive(first + i);
      if (!record) throw CorruptRecord("a table records changes in a stream that is not there");
      Stream stream = decode_stream(*record);
      open.emplace(stream.id, std::move(stream));
    }
  }
  void close(StreamId id, engine::Batch& batch) {
    Stream stream = open.at(id);
    close_stream(stream, now_ms);
    write_shard_edges(open.at(id), stream, batch);
    changed.push_back(std::move(stream));
  }
};

// Opens and closes streams as the table's settings ask.
void Catalog::follow_settings(Table& table, model::TableSchema& schema, engine::Batch& batch,
                              StreamChanges& changes) const {
  const bool wants_own = table.stream && table.stream->enabled;
  const bool is_new = wants_own && table.stream->label.empty();
  std::vector<model::Capture> captures;
  for (model::Capture& capture : schema.captures) {
    const bool stays = capture.hidden ? table.hidden_stream : wants_own && !is_new;
    if (stays) {
      captures.push_back(std::move(capture));
    } else {
      changes.close({schema.number, capture.stream}, batch);
    }
  }
  const auto open = [&](model::StreamView view, bool hidden) {
    // Two streams may be opened in one millisecond, by a table of this name that is gone too.
    int64_t time_ms = changes.now_ms;
    while (find_stream(stream_arn(table, stream_label(time_ms), hidden))) ++time_ms;
    const Stream stream =
        open_stream(table, ++table.last_stream_number, view, hidden, stream_label(time_ms),
                    options_.stream_shards, changes.now_ms);
    write_shard_edges(Stream(), stream, batch);
    captures.push_back(capture_of(stream));
    changes.changed.push_back(stream);
    return stream.label;
  };
  const auto has = [&](bool hidden) {
    return std::any_of(captures.begin(), captures.end(),
                       [&](const model::Capture& capture) { return capture.hidden == hidden; });
  };
  if (wants_own && !has(false)) {
    const auto view = model::stream_view_of(table.stream->view_type);
    table.stream->label = open(view.value_or(model::StreamView::kNewAndOldImages), false);
  }
  if (table.hidden_stream && !has(true)) open(model::StreamView::kNewAndOldImages, true);
  schema.captures = std::move(captures);
}

// Notes the version of the commit that opened and closed shards.
Task<void> Catalog::settle(std::vector<Stream> streams, uint64_t version) {
  const auto note = [version](Stream& stream) {
    for (Shard& shard : stream.shards) {
      if (shard.opened_version == 0) shard.opened_version = version;
      if (shard.closed_ms && shard.closed_version == 0) shard.closed_version = version;
    }
  };
  for (Stream& stream : streams) {
    Stream newest;
    bool gone = false;
    const Body body = [&](const engine::Held& held, engine::Batch& batch) {
      gone = !held.exclusive(0).has_value();
      if (gone) return;
      newest = decode_stream(*held.exclusive(0));
      note(newest);
      batch.put(stream_key(newest.id), encode_stream(newest));
    };
    std::vector<std::string> keys{stream_key(stream.id)};
    auto committing = commit(std::move(keys), body);
    const auto outcome = co_await committing;
    if (!gone) state_->keep(std::move(newest), outcome.version);
  }
}

Task<TablePtr> Catalog::create(Table asked) {
  const std::string name = asked.name();
  const std::string id = asked.id.empty() ? state_->ids.uuid() : asked.id;
  std::shared_ptr<Table> created;
  StreamChanges streams;
  const Body body = [&](const engine::Held& held, engine::Batch& batch) {
    created = nullptr;
    const int64_t now_ms = clock_.now_ms();
    streams = StreamChanges{.open = {}, .changed = {}, .now_ms = now_ms};
    if (const auto& taken = held.exclusive(0)) {
      if (decode_table(*taken).state(now_ms) != TableState::kGone) return;
    }
    uint64_t number = 1;
    if (const auto& last = held.exclusive(1)) {
      std::string_view bytes = *last;
      number = read_big_endian<uint64_t>(bytes) + 1;
    }
    auto table = std::make_shared<Table>(asked);
    table->last_index_number = 0;
    table->schema = number_schema(*asked.schema, number, 1, table->last_index_number);
    table->id = id;
    table->arn = table_arn(name);
    table->created_ms = now_ms;
    if (asked.active_at_ms != kNotYet) table->active_at_ms = now_ms + options_.table_delay_ms;
    table->updating_until_ms = 0;
    table->deleted_at_ms.reset();
    if (table->billing == BillingMode::kPayPerRequest) table->on_demand_since_ms = now_ms;

    if (asks_other_streams(*table)) {
      auto schema = std::make_shared<model::TableSchema>(*table->schema);
      follow_settings(*table, *schema, batch, streams);
      table->schema = std::move(schema);
    }

    std::string allocated;
    append_big_endian<uint64_t>(allocated, number);
    batch.put(allocation_key(), std::move(allocated));
    batch.put(name_key(name), encode_table(*table));
    batch.put(schema_guard_key(number), encode_schema_version(1));
    created = std::move(table);
  };
  std::vector<std::string> keys{name_key(name), allocation_key()};
  const auto outcome = co_await commit(std::move(keys), body);
  if (!created) co_return nullptr;
  state_->keep(created, outcome.version);
  auto settling = settle(std::move(streams.changed), outcome.version);
  co_await settling;
  co_return created;
}

Task<TablePtr> Catalog::update(std::string name, std::function<void(Table&)> change) {
  bool hold_guard = false;
  for (int tries = 1; tries <= kMaxRecordTries; ++tries) {
    const TablePtr known = find(name);
    if (!known) co_return nullptr;
    std::vector<std::string> keys{name_key(name)};
    const std::vector<std::string> stream_keys = capture_keys(*known->schema);
    if (hold_guard) {
      keys.push_back(schema_guard_key(known->schema->number));
      keys.insert(keys.end(), stream_keys.begin(), stream_keys.end());
    }
    StreamChanges streams;

    std::shared_ptr<Table> changed;
    bool again = false;
    bool gone = false;
    const Body body = [&](const engine::Held& held, engine::Batch& batch) {
      changed = nullptr;
      again = gone = false;
      const auto& record = held.exclusive(0);
      if (!record) {
        gone = true;
        return;
      }
      auto table = std::make_shared<Table>(decode_table(*record));
      if (table->state(clock_.now_ms()) == TableState::kGone) {
        gone = true;
        return;
      }
      const auto before = table->schema;
      change(*table);
      const bool other_streams = asks_other_streams(*table);
      if (table->schema != before || other_streams) {
        // Another table of that name by now, or the first that is heard of a new schema: hold the
        // right guard.
        if (!hold_guard || before->number != known->schema->number ||
            capture_keys(*before) != stream_keys) {
          again = true;
          return;
        }
        if (other_streams) {
          streams.now_ms = clock_.now_ms();
          streams.read(*before, held, 2);
          auto schema = std::make_shared<model::TableSchema>(*table->schema);
          follow_settings(*table, *schema, batch, streams);
          table->schema = std::move(schema);
        }
        table->schema = number_schema(*table->schema, before->number, before->version + 1,
                                      table->last_index_number);
        batch.put(schema_guard_key(before->number), encode_schema_version(table->schema->version));
      }
      batch.put(name_key(name), encode_table(*table));
      changed = std::move(table);
    };
    const auto outcome = co_await commit(std::move(keys), body);
    if (gone) co_return nullptr;
    if (again) {
      // What was held may be older than what is committed.
      if (hold_guard) {
        auto reloading = reload(name);
        co_await reloading;
      }
      hold_guard = true;
      continue;
    }
    state_->keep(changed, outcome.version);
    auto settling = settle(std::move(streams.changed), outcome.version);
    co_await settling;
    co_return changed;
  }
  throw engine::EngineError("the table was replaced by others again and again");
}

Task<TablePtr> Catalog::remove(std::string name, std::function<void(const Table&)> check,
                               Addition also) {
  for (int tries = 1; tries <= kMaxRecordTries; ++tries) {
    const TablePtr known = find(name);
    if (!known) co_return nullptr;
    const model::TableNumber number = known->schema->number;

    std::shared_ptr<Table> removed;
    bool again = false;
    const std::vector<std::string> stream_keys = capture_keys(*known->schema);
    StreamChanges streams;
    const Body body = [&](const engine::Held& held, engine::Batch& batch) {
      removed = nullptr;
      again = false;
      const auto& record = held.exclusive(0);
      if (!record) return;
      auto table = std::make_shared<Table>(decode_table(*record));
      const int64_t now_ms = clock_.now_ms();
      if (table->state(now_ms) == TableState::kGone) return;
      if (table->schema->number != number || capture_keys(*table->schema) != stream_keys) {
        again = true;
        return;
      }
      check(*table);
      streams.now_ms = now_ms;
      streams.read(*table->schema, held, 2);
      for (const model::Capture& capture : table->schema->captures)
        streams.close({number, capture.stream}, batch);
      table->deleted_at_ms = now_ms + options_.table_delay_ms;
      std::string garbage;
      append_big_endian<int64_t>(garbage, *table->deleted_at_ms);
      garbage.append(name);
      batch.put(garbage_key(number), std::move(garbage));
      batch.put(name_key(name), encode_table(*table));
      batch.erase(schema_guard_key(number));
      if (also) also(*table, batch);
      removed = std::move(table);
    };
    std::vector<std::string> keys{name_key(name), schema_guard_key(number)};
    keys.insert(keys.end(), stream_keys.begin(), stream_keys.end());
    const auto outcome = co_await commit(std::move(keys), body);
    if (again) {
      auto reloading = reload(name);
      co_await reloading;
      continue;
    }
    if (!removed) co_return nullptr;
    state_->keep(removed, outcome.version);
    auto settling = settle(std::move(streams.changed), outcome.version);
    co_await settling;
    co_return removed;
  }
  throw engine::EngineError("the table was replaced by others again and again");
}

Task<TablePtr> Catalog::reload(std::string name) {
  const std::string key = name_key(name);  // outlives the read, which only looks at it
  for (int tries = 1;; ++tries) {
    const uint64_t version = engine_.committed_version();
    const auto view = engine_.view();
    std::optional<std::string> record;
    bool expired = false;
    try {
      auto reading = view->get(key);
      record = co_await reading;
    } catch (const engine::ViewExpired&) {
      if (tries == kMaxRecordTries) throw;
      expired = true;
    }
    if (expired) continue;
    if (!record) co_return nullptr;
    auto table = std::make_shared<const Table>(decode_table(*record));
    state_->keep(table, version);
    co_return find(name);
  }
}

Catalog::Hold::Hold(Catalog& catalog, model::TableNumber table)
    : catalog_(&catalog), table_(table) {
  const std::unique_lock lock(catalog_->state_->mutex);
  ++catalog_->state_->holds[table_];
}

Catalog::Hold::Hold(Hold&& other) noexcept
    : catalog_(std::exchange(other.catalog_, nullptr)), table_(other.table_) {}

Catalog::Hold& Catalog::Hold::operator=(Hold&& other) noexcept {
  std::swap(catalog_, other.catalog_);
  std::swap(table_, other.table_);
  return *this;
}

Catalog::Hold::~Hold() {
  if (catalog_ == nullptr) return;
  const std::unique_lock lock(catalog_->state_->mutex);
  auto& holds = catalog_->state_->holds;
  const auto found = holds.find(table_);
  if (--found->second == 0) holds.erase(found);
}

bool Catalog::is_held(model::TableNumber table) const {
  const std::shared_lock lock(state_->mutex);
  return state_->is_held(table);
}

Task<Catalog::HeldTable> Catalog::hold(std::string name) {
  for (;;) {
    const TablePtr known = find(name);
    if (!known) co_return HeldTable{};
    Hold hold(*this, known->schema->number);
    const std::function<void(Table&)> nothing = [](Table&) {};
    auto looking = update(name, nothing);
    const TablePtr table = co_await looking;
    if (!table) co_return HeldTable{};
    if (table->schema->number != known->schema->number) continue;
    co_return HeldTable{table, std::move(hold)};
  }
}

std::vector<model::TableNumber> Catalog::garbage() const {
  std::vector<model::TableNumber> numbers;
  const int64_t now_ms = clock_.now_ms();
  const std::shared_lock lock(state_->mutex);
  for (const auto& [number, garbage] : state_->garbage) {
    if (garbage.gone_at_ms <= now_ms && !state_->is_held(number)) numbers.push_back(number);
  }
  return numbers;
}

Task<void> Catalog::garbage_erased(model::TableNumber number) {
  std::string name;
  {
    const std::shared_lock lock(state_->mutex);
    const auto found = state_->garbage.find(number);
    if (found == state_->garbage.end()) co_return;
    name = found->second.name;
  }
  const Body body = [&](const engine::Held& held, engine::Batch& batch) {
    batch.erase(garbage_key(number));
    const auto& record = held.exclusive(1);
    if (record && decode_table(*record).schema->number == number) batch.erase(name_key(name));
  };
  std::vector<std::string> keys{garbage_key(number), name_key(name)};
  co_await commit(std::move(keys), body);
  state_->forget(number);
}

StreamPtr Catalog::find_stream(std::string_view arn) const {
  const std::shared_lock lock(state_->mutex);
  const auto found = state_->stream_by_arn.find(arn);
  return found != state_->stream_by_arn.end() ? state_->streams.at(found->second).stream : nullptr;
}

StreamPtr Catalog::find_stream(StreamId id) const {
  const std::shared_lock lock(state_->mutex);
  const auto found = state_->streams.find(id);
  return found != state_->streams.end() ? found->second.stream : nullptr;
}

std::vector<StreamPtr> Catalog::streams() const {
  std::vector<StreamPtr> streams;
  const std::shared_lock lock(state_->mutex);
  for (const auto& [arn, id] : state_->stream_by_arn)
    streams.push_back(state_->streams.at(id).stream);
  return streams;
}

Task<bool> Catalog::roll_stream(StreamId id, int64_t shards) {
  const StreamPtr known = find_stream(id);
  if (!known || known->disabled_ms) co_return false;
  const std::string name = known->table_name;
  std::shared_ptr<Table> changed;
  Stream rolled;
  const Body body = [&](const engine::Held& held, engine::Batch& batch) {
    changed = nullptr;
    const auto& record = held.exclusive(0);
    if (!record || !held.exclusive(1) || !held.exclusive(2)) return;
    auto table = std::make_shared<Table>(decode_table(*record));
    if (table->schema->number != id.table || table->deleted_at_ms) return;
    auto schema = std::make_shared<model::TableSchema>(*table->schema);
    for (model::Capture& capture : schema->captures) {
      if (capture.stream != id.number) continue;
      const Stream before = decode_stream(*held.exclusive(2));
      rolled = before;
      roll_shards(rolled, shards, clock_.now_ms());
      write_shard_edges(before, rolled, batch);
      capture = capture_of(rolled);
      schema->version += 1;
      batch.put(schema_guard_key(id.table), encode_schema_version(schema->version));
      table->schema = schema;
      batch.put(name_key(name), encode_table(*table));
      changed = table;
      return;
    }
  };
  std::vector<std::string> keys{name_key(name), schema_guard_key(id.table), stream_key(id)};
  auto committing = commit(std::move(keys), body);
  const auto outcome = co_await committing;
  if (!changed) co_return false;
  state_->keep(changed, outcome.version);
  std::vector<Stream> streams{rolled};
  auto settling = settle(std::move(streams), outcome.version);
  co_await settling;
  co_return true;
}

Task<void> Catalog::forget_shards(StreamId id, std::vector<model::ShardNumber> shards) {
  Stream left;
  bool over = false;
  const Body body = [&](const engine::Held& held, engine::Batch& batch) {
    over = !held.exclusive(0).has_value();
    if (over) return;
    left = decode_stream(*held.exclusive(0));
    std::erase_if(left.shards, [&](const Shard& shard) {
      return std::find(shards.begin(), shards.end(), shard.number) != shards.end();
    });
    over = left.shards.empty() && left.is_over(clock_.now_ms());
    if (over) {
      batch.erase(stream_key(id));
    } else {
      batch.put(stream_key(id), encode_stream(left));
    }
  };
  std::vector<std::string> keys{stream_key(id)};
  auto committing = commit(std::move(keys), body);
  const auto outcome = co_await committing;
  if (over) {
    state_->forget(id);
  } else {
    state_->keep(std::move(left), outcome.version);
  }
}

}  // namespace stator::catalog
