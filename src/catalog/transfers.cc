// Keys:
//   m x e <id>           an export
//   m x i <id>           an import
//   m x p <id>           how far one that is under way has come, or what an import that has ended
//   came to m x f <id> <number>  a finished data file of an export that is under way
#include "catalog/transfers.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <shared_mutex>

#include "catalog/records.h"
#include "catalog/transfer_codec.h"
#include "common/bytes.h"
#include "model/error.h"

namespace stator::catalog {

namespace {

constexpr std::string_view kExports = "mxe";
constexpr std::string_view kImports = "mxi";
constexpr std::string_view kProgress = "mxp";
constexpr std::string_view kFiles = "mxf";
constexpr size_t kSweptAtOnce = 100;

std::string key_of(std::string_view prefix, const std::string& id) {
  return std::string(prefix) + id;
}

std::string file_key(const std::string& id, uint32_t number) {
  std::string key = key_of(kFiles, id);
  append_big_endian(key, number);
  return key;
}

std::string make_id(int64_t now_ms, RandomIds& ids) {
  return fmt::format("{:014}-{:08x}", now_ms, static_cast<uint32_t>(ids.number()));
}

}  // namespace

std::string_view status_name(TransferStatus status) {
  switch (status) {
    case TransferStatus::kInProgress:
      return "IN_PROGRESS";
    case TransferStatus::kCompleted:
      return "COMPLETED";
    case TransferStatus::kFailed:
      break;
  }
  return "FAILED";
}

// A transfer is changed by whoever runs it alone, so the order of changes needs no versions.
struct Transfers::State {
  mutable std::shared_mutex mutex;
  std::map<std::string, ExportPtr, std::less<>> exports;
  std::map<std::string, ImportPtr, std::less<>> imports;
  std::map<std::string, ExportProgress> export_progress;
  std::map<std::string, ImportProgress> import_progress;
  std::map<std::string, Catalog::Hold> holds;  // by export
  // Held from the look for a token until its transfer is kept: two requests with one token make
  // one.
  std::mutex adding;
  std::set<std::string> tokens_being_added;
  RandomIds ids;
};

Transfers::Transfers(engine::Engine& engine, Catalog& catalog, const Clock& clock)
    : engine_(engine), catalog_(catalog), clock_(clock), state_(std::make_unique<State>()) {
  load();
}

Transfers::~Transfers() = default;

void Transfers::load() {
  each_record(engine_, kExports, [&](std::string_view rest, std::string_view value) {
    std::string id(rest);
    auto exported = std::make_shared<const Export>(decode_export(value));
    if (exported->status == TransferStatus::kInProgress) {
      state_->holds.emplace(id, Catalog::Hold(catalog_, exported->table));
    }
    state_->exports.emplace(std::move(id), std::move(exported));
  });
  each_record(engine_, kImports, [&](std::string_view rest, std::string_view value) {
    std::string id(rest);
    state_->imports.emplace(std::move(id), std::make_shared<const Import>(decode_import(value)));
  });
  each_record(engine_, kProgress, [&](std::string_view rest, std::string_view value) {
    std::string id(rest);
    if (state_->exports.contains(id)) {
      state_->export_progress.emplace(std::move(id), decode_export_progress(value));
    } else {
      state_->import_progress.emplace(std::move(id), decode_import_progress(value));
    }
  });
}

Task<engine::Outcome> Transfers::commit(std::vector<std::string> keys, Body body) {
  return commit_records(engine_, state_->ids, "an export or import", std::move(keys),
                        std::move(body));
}

// Keeps the record of a new transfer.
Task<void> Transfers::put(std::string key, std::string value) {
  const Body body = [&](const engine::Held&, engine::Batch& batch) { batch.put(key, value); };
  std::vector<std::string> keys{key};
  auto pending = commit(std::move(keys), body);
  co_await pending;
}

namespace {

// A token that is being added may not be added by another request at the same time; which of the
// two comes first does not matter, so the other one is told to try again.
class TokenGuard {
 public:
  TokenGuard(std::mutex& mutex, std::set<std::string>& tokens, std::string token)
      : mutex_(mutex), tokens_(tokens), token_(std::move(token)) {
    const std::lock_guard lock(mutex_);
    if (!tokens_.insert(token_).second) {
      throw ApiError("LimitExceededException", "A request with this token is under way");
    }
  }
  ~TokenGuard() {
    const std::lock_guard lock(mutex_);
    tokens_.erase(token_);
  }
  TokenGuard(const TokenGuard&) = delete;
  TokenGuard& operator=(const TokenGuard&) = delete;

 private:
  std::mutex& mutex_;
  std::set<std::string>& tokens_;
  std::string token_;
};

template <typename Map>
size_t count_under_way(const Map& map) {
  return static_cast<size_t>(std::count_if(map.begin(), map.end(), [](const auto& entry) {
    return entry.second->status == TransferStatus::kInProgress;
  }));
}

template <typename Map>
auto find_token(const Map& map, const std::string& token, int64_t now_ms) {
  constexpr int64_t kTokenLifetime_ms = 8LL * 60 * 60 * 1000;  // after the end
  for (const auto& [id, transfer] : map) {
    if (transfer->client_token != token) continue;
    if (!transfer->end_ms || now_ms < *transfer->end_ms + kTokenLifetime_ms) return transfer;
  }
  return typename Map::mapped_type();
}

}  // namespace

ExportPtr Transfers::find_export_of(const std::string& token) const {
  const std::shared_lock lock(state_->mutex);
  return find_token(state_->exports, token, clock_.now_ms());
}

ExportPtr Transfers::find_export(std::string_view id) const {
  const std::shared_lock lock(state_->mutex);
  const auto at = state_->exports.find(id);
  return at != state_->exports.end() ? at->second : nullptr;
}

ImportPtr Transfers::find_import(std::string_view id) const {
  const std::shared_lock lock(state_->mutex);
  const auto at = state_->imports.find(id);
  return at != state_->imports.end() ? at->second : nullptr;
}

std::vector<ExportPtr> Transfers::exports() const {
  std::vector<ExportPtr> all;
  {
    const std::shared_lock lock(state_->mutex);
    for (auto at = state_->exports.rbegin(); at != state_->exports.rend(); ++at) {
      all.push_back(at->second);
    }
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a->table_name < b->table_name; });
  return all;
}

std::vector<ImportPtr> Transfers::imports() const {
  std::vector<ImportPtr> all;
  const std::shared_lock lock(state_->mutex);
  for (auto at = state_->imports.rbegin(); at != state_->imports.rend(); ++at) {
    all.push_back(at->second);
  }
  return all;
}

ImportProgress Transfers::progress(const Import& import) const {
  const std::shared_lock lock(state_->mutex);
  const auto at = state_->import_progress.find(import.id);
  return at != state_->import_progress.end() ? at->second : ImportProgress{};
}

ExportProgress Transfers::progress(const Export& exported) const {
  const std::shared_lock lock(state_->mutex);
  const auto at = state_->export_progress.find(exported.id);
  return at != state_->export_progress.end() ? at->second : ExportProgress{};
}

Task<Transfers::Added> Transfers::add(Export exported, Catalog::Hold hold) {
  const TokenGuard guard(state_->adding, state_->tokens_being_added, "e" + exported.client_token);
  const int64_t now_ms = clock_.now_ms();
  {
    const std::shared_lock lock(state_->mutex);
    if (auto taken = find_token(state_->exports, exported.client_token, now_ms)) {
      Added added;
      added.exported = taken;
      co_return added;
    }
    if (count_under_way(state_->exports) >= kMaxExportsUnderWay) {
      throw ApiError("LimitExceededException",
                     "Too many concurrent exports: at most 300 may be in progress");
    }
  }
  exported.id = make_id(exported.start_ms, state_->ids);
  exported.arn = exported.table_arn + "/export/" + exported.id;
  auto putting = put(key_of(kExports, exported.id), encode_export(exported));
  co_await putting;
  auto kept = std::make_shared<const Export>(std::move(exported));
  const std::unique_lock lock(state_->mutex);
  state_->exports[kept->id] = kept;
  state_->holds[kept->id] = std::move(hold);
  Added added;
  added.exported = kept;
  added.is_new = true;
  co_return added;
}

Task<Transfers::Added> Transfers::add(Import imported) {
  const TokenGuard guard(state_->adding, state_->tokens_being_added, "i" + imported.client_token);
  const int64_t now_ms = clock_.now_ms();
  {
    const std::shared_lock lock(state_->mutex);
    if (auto taken = find_token(state_->imports, imported.client_token, now_ms)) {
      Added added;
      added.imported = taken;
      co_return added;
    }
    if (count_under_way(state_->imports) >= kMaxImportsUnderWay) {
      throw ApiError("LimitExceededException",
                     "Too many concurrent imports: at most 50 may be in progress");
    }
  }
  imported.id = make_id(imported.start_ms, state_->ids);
  imported.arn = imported.table_arn + "/import/" + imported.id;
  auto putting = put(key_of(kImports, imported.id), encode_import(imported));
  co_await putting;
  auto kept = std::make_shared<const Import>(std::move(imported));
  const std::unique_lock lock(state_->mutex);
  state_->imports[kept->id] = kept;
  Added added;
  added.imported = kept;
  added.is_new = true;
  co_return added;
}

Task<void> Transfers::update(Export exported) {
  const bool is_over = exported.status != TransferStatus::kInProgress;
  const std::string key = key_of(kExports, exported.id);
  const std::string value = encode_export(exported);
  const std::string files = key_of(kFiles, exported.id);
  const Body body = [&](const engine::Held&, engine::Batch& batch) {
    batch.put(key, value);
    if (!is_over) return;
    batch.erase(key_of(kProgress, exported.id));
    batch.erase_range({files, prefix_end(files)});
  };
  std::vector<std::string> keys{key};
  auto pending = commit(std::move(keys), body);
  co_await pending;
  auto kept = std::make_shared<const Export>(std::move(exported));
  Catalog::Hold over;  // let go without the lock
  const std::unique_lock lock(state_->mutex);
  state_->exports[kept->id] = kept;
  if (!is_over) co_return;
  state_->export_progress.erase(kept->id);
  const auto hold = state_->holds.find(kept->id);
  if (hold == state_->holds.end()) co_return;
  over = std::move(hold->second);
  state_->holds.erase(hold);
}

Task<void> Transfers::update(Import imported) {
  auto putting = put(key_of(kImports, imported.id), encode_import(imported));
  co_await putting;
  auto kept = std::make_shared<const Import>(std::move(imported));
  const std::unique_lock lock(state_->mutex);
  state_->imports[kept->id] = kept;
}

Task<void> Transfers::keep(const Export& exported, ExportedFile file, ExportProgress progress) {
  const std::string key = key_of(kProgress, exported.id);
  const std::string value = encode_progress(progress);
  const std::string row = encode_file(file);
  const Body body = [&](const engine::Held&, engine::Batch& batch) {
    batch.put(key, value);
    batch.put(file_key(exported.id, progress.files - 1), row);
  };
  std::vector<std::string> keys{key};
  auto pending = commit(std::move(keys), body);
  co_await pending;
  const std::unique_lock lock(state_->mutex);
  state_->export_progress[exported.id] = std::move(progress);
}

Task<std::vector<ExportedFile>> Transfers::files(const Export& exported, uint32_t from,
                                                 size_t limit) {
  const std::string prefix = key_of(kFiles, exported.id);
  for (int expired = 0;;) {
    try {
      const auto view = engine_.view();
      engine::Range range{file_key(exported.id, from), prefix_end(prefix)};
      auto pending = view->scan(std::move(range), engine::Direction::kForward,
                                {.rows = limit, .bytes = SIZE_MAX});
      const engine::Rows rows = co_await pending;
      std::vector<ExportedFile> found;
      for (size_t i = 0; i < rows.size(); ++i) found.push_back(decode_file(rows.value(i)));
      co_return found;
    } catch (const engine::ViewExpired&) {
      if (++expired > kMaxRecordTries) throw;
    }
  }
}

std::string Transfers::progress_key(const Import& import) {
  return key_of(kProgress, import.id);
}

std::string Transfers::encode(const ImportProgress& progress) {
  return encode_progress(progress);
}

void Transfers::told(const Import& import, ImportProgress progress) {
  const std::unique_lock lock(state_->mutex);
  state_->import_progress[import.id] = std::move(progress);
}

bool Transfers::sweep() {
  const int64_t before_ms = clock_.now_ms() - kLifetime_ms;
  std::vector<std::string> exports;
  std::vector<std::string> imports;
  const auto find_old = [&](const auto& map, std::vector<std::string>& ids) {
    for (const auto& [id, transfer] : map) {
      if (ids.size() >= kSweptAtOnce) return;
      if (transfer->end_ms && *transfer->end_ms < before_ms) ids.push_back(id);
    }
  };
  {
    const std::shared_lock lock(state_->mutex);
    find_old(state_->exports, exports);
    find_old(state_->imports, imports);
  }
  if (exports.empty() && imports.empty()) return false;
  std::vector<std::string> keys;
  for (const std::string& id : exports) keys.push_back(key_of(kExports, id));
  for (const std::string& id : imports) {
    keys.push_back(key_of(kImports, id));
    keys.push_back(key_of(kProgress, id));
  }
  const Body body = [&](const engine::Held&, engine::Batch& batch) {
    for (const std::string& key : keys) batch.erase(key);
  };
  run_blocking(commit(keys, body));
  const std::unique_lock lock(state_->mutex);
  for (const std::string& id : exports) state_->exports.erase(id);
  for (const std::string& id : imports) {
    state_->imports.erase(id);
    state_->import_progress.erase(id);
  }
  return true;
}

}  // namespace stator::catalog
