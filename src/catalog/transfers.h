// Exports and imports of tables: what was asked for, how far it has come and how it ended. Kept in
// the engine, mirrored in memory like the catalog itself; they outlive their tables.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/catalog.h"
#include "common/clock.h"
#include "common/ids.h"
#include "common/task.h"
#include "engine/engine.h"
#include "model/schema.h"

namespace stator::catalog {

enum class TransferStatus : uint8_t { kInProgress, kCompleted, kFailed };
std::string_view status_name(TransferStatus status);  // "IN_PROGRESS", ...

// What exports and imports have in common.
struct Transfer {
  std::string id;  // "01693685827463-2d8752fd": when it began in milliseconds, and a random part
  std::string arn;
  std::string table_name;
  std::string table_arn;
  std::string table_id;
  std::string client_token;
  std::string fingerprint;  // of the request: a token stands for one request
  TransferStatus status = TransferStatus::kInProgress;
  int64_t start_ms = 0;
  std::optional<int64_t> end_ms;
  std::string bucket;
  std::string bucket_owner;  // may be empty
  std::string prefix;        // may be empty
  bool has_prefix = false;
  std::string failure_code;
  std::string failure_message;
};

struct Export : Transfer {
  bool is_incremental = false;
  bool type_named = false;  // the request said which type it is, and so do its descriptions
  std::string sse_algorithm = "AES256";
  std::string sse_key;
  int64_t export_time_ms = 0;  // of a full one: the moment
  int64_t from_ms = 0;         // of an incremental one: the period, its end not included
  int64_t to_ms = 0;
  bool has_old_images = true;
  // What is read: see store::Past. `cut` is where a full one reads and an incremental one begins.
  model::TableNumber table = 0;
  std::vector<std::string> key_names;
  uint32_t era = 0;
  uint32_t first_day = 0;
  uint64_t cut = 0;
  uint64_t end_cut = 0;
  // Once it is completed.
  std::string manifest_key;
  int64_t item_count = 0;
  int64_t billed_bytes = 0;
};

struct Import : Transfer {
  std::string format;           // "DYNAMODB_JSON", "CSV"
  std::string compression;      // "GZIP", "ZSTD", "NONE"
  std::string format_options;   // as it was sent, JSON; may be empty
  std::string creation;         // TableCreationParameters as they were sent, JSON
  std::string delimiter = ",";  // of CSV
  std::vector<std::string> header;
  std::string table_record;  // the table to create (table_codec.h)
};

// One finished data file of an export.
struct ExportedFile {
  std::string key;
  int64_t item_count = 0;
  std::string md5;  // base64
  std::string etag;
};

// How far a transfer that is under way has come; kept in the commits of its own work.
struct ExportProgress {
  std::string from;      // see store::read_past
  bool is_read = false;  // everything: only manifests are missing
  uint32_t files = 0;
  int64_t item_count = 0;
  int64_t size_bytes = 0;
};
struct ImportProgress {
  bool has_table = false;  // it was created
  std::string done_key;    // objects up to this one are done
  uint64_t records = 0;    // of the next object that are done
  int64_t processed_items = 0;
  int64_t imported_items = 0;
  int64_t errors = 0;
  int64_t processed_bytes = 0;
  int64_t log_bytes = 0;  // of the error log
};

using ExportPtr = std::shared_ptr<const Export>;
using ImportPtr = std::shared_ptr<const Import>;

// Thread-safe. Those that change something throw engine::EngineError if the engine cannot write.
class Transfers {
 public:
  static constexpr int64_t kLifetime_ms = 90LL * 24 * 60 * 60 * 1000;  // of those that have ended
  static constexpr size_t kMaxExportsUnderWay = 300;
  static constexpr size_t kMaxImportsUnderWay = 50;

  // Reads everything from the engine, and holds the tables of exports that are under way. Throws
  // engine::EngineError or CorruptRecord.
  Transfers(engine::Engine& engine, Catalog& catalog, const Clock& clock);
  ~Transfers();

  // Null if there is none, or its token is no longer known.
  ExportPtr find_export_of(const std::string& token) const;
  // Null if there is none.
  ExportPtr find_export(std::string_view id) const;
  ImportPtr find_import(std::string_view id) const;
  // In the order of table names, those of one table newest first.
  std::vector<ExportPtr> exports() const;
  // Newest first.
  std::vector<ImportPtr> imports() const;
  ImportProgress progress(const Import& import) const;
  ExportProgress progress(const Export& exported) const;

  // Keeps a new one, with an id and arn (of the table's) of its own, unless its token is taken:
  // then the one that has it is returned. `is_new` says which. Throws LimitExceededException.
  struct Added {
    ExportPtr exported;
    ImportPtr imported;
    bool is_new = false;
  };
  Task<Added> add(Export exported, Catalog::Hold hold);
  Task<Added> add(Import imported);

  // Replaces it; its progress is forgotten once it has ended.
  Task<void> update(Export exported);
  Task<void> update(Import imported);

  // Keeps a file that is finished and how far the export has come, in one commit.
  Task<void> keep(const Export& exported, ExportedFile file, ExportProgress progress);
  // The finished files from number `from` on, at most `limit`.
  Task<std::vector<ExportedFile>> files(const Export& exported, uint32_t from, size_t limit);

  // The record of an import's progress, for the commits of the import itself; `told` follows the
  // commit.
  static std::string progress_key(const Import& import);
  static std::string encode(const ImportProgress& progress);
  void told(const Import& import, ImportProgress progress);

  // Forgets what ended more than 90 days ago. True if there may be more.
  bool sweep();

 private:
  struct State;
  using Body = std::function<void(const engine::Held&, engine::Batch&)>;
  Task<engine::Outcome> commit(std::vector<std::string> keys, Body body);
  Task<void> put(std::string key, std::string value);
  void load();

  engine::Engine& engine_;
  Catalog& catalog_;
  const Clock& clock_;
  std::unique_ptr<State> state_;
};

}  // namespace stator::catalog
