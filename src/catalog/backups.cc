// Keys:
//   m b <id> / <name of the table>    a backup; by time, since the id begins with it
#include "catalog/backups.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <shared_mutex>

#include "catalog/records.h"
#include "catalog/table_codec.h"
#include "common/bytes.h"
#include "common/ids.h"
#include "engine/frozen.h"
#include "json/reader.h"
#include "json/writer.h"

namespace stator::catalog {

namespace {

constexpr char kRecordVersion = 1;
constexpr std::string_view kPrefix = "mb";

std::string place_of(std::string_view id, std::string_view table_name) {
  return std::string(id) + "/" + std::string(table_name);
}

std::string place_of(const Backup& backup) {
  return place_of(backup.id, backup.table.name());
}

std::string encode(const Backup& backup) {
  std::string out(1, kRecordVersion);
  json::Object object(out);
  object.string("id", backup.id);
  object.string("name", backup.name);
  object.boolean("system", backup.system);
  object.boolean("available", backup.available);
  object.integer("created_ms", backup.created_ms);
  if (backup.expires_ms) object.integer("expires_ms", *backup.expires_ms);
  object.integer("items", backup.items);
  object.integer("bytes", backup.bytes);
  object.string("table", encode_table(backup.table));
  object.close();
  return out;
}

}  // namespace

Backup decode_backup(std::string_view record) {
  json::Document document;
  if (record.empty() || record.front() != kRecordVersion ||
      !document.parse(std::string(record.substr(1))))
    throw CorruptRecord("record of a backup: unknown form");
  const json::Element root = document.root();
  const auto text = [&](std::string_view name) {
    const auto value = json::string_member(root, name);
    if (!value) throw CorruptRecord("record of a backup: no text " + std::string(name));
    return std::string(*value);
  };
  Backup backup;
  backup.id = text("id");
  backup.name = text("name");
  backup.system = json::bool_member(root, "system").value_or(false);
  backup.available = json::bool_member(root, "available").value_or(false);
  backup.created_ms = json::int_member(root, "created_ms").value_or(0);
  backup.expires_ms = json::int_member(root, "expires_ms");
  backup.items = json::int_member(root, "items").value_or(0);
  backup.bytes = json::int_member(root, "bytes").value_or(0);
  backup.table = decode_table(text("table"));
  return backup;
}

struct Backups::State {
  mutable std::shared_mutex mutex;
  std::map<std::string, BackupPtr> backups;  // by place
  std::set<std::string> in_use;              // by ARN
  RandomIds ids;
};

Backups::Backups(engine::Engine& engine) : engine_(engine), state_(std::make_unique<State>()) {
  each_record(engine_, kPrefix,
              [&](std::string_view, std::string_view value) { note(decode_backup(value)); });
  engine::FrozenCopies& copies = engine::frozen_copies(engine_);
  for (const BackupPtr& backup : list()) {
    if (backup->available) continue;
    spdlog::info("Backup {} was not complete when the process ended; it is removed.",
                 backup->arn());
    run_blocking(remove(backup));
  }
  std::set<std::string> wanted;
  for (const BackupPtr& backup : list()) wanted.insert(backup->id);
  for (const std::string& name : copies.frozen()) {
    if (!wanted.contains(name)) run_blocking(copies.drop_frozen(name));
  }
}

Backups::~Backups() = default;

std::string Backups::make_id(int64_t time_ms, bool system) {
  char text[40];
  const auto random =
      system ? 0U : static_cast<unsigned>(state_->ids.number() % 0xFFFFFFFFULL) + 1U;
  std::snprintf(text, sizeof text, "%014lld-%08x", static_cast<long long>(time_ms), random);
  return text;
}

BackupPtr Backups::find(std::string_view table_name, std::string_view id) const {
  const std::shared_lock lock(state_->mutex);
  const auto found = state_->backups.find(place_of(id, table_name));
  return found == state_->backups.end() ? nullptr : found->second;
}

std::vector<BackupPtr> Backups::list() const {
  std::vector<BackupPtr> backups;
  const std::shared_lock lock(state_->mutex);
  backups.reserve(state_->backups.size());
  for (const auto& [place, backup] : state_->backups) backups.push_back(backup);
  return backups;
}

bool Backups::keeps(model::TableNumber table) const {
  const std::shared_lock lock(state_->mutex);
  return std::any_of(state_->backups.begin(), state_->backups.end(), [&](const auto& entry) {
    return entry.second->system && entry.second->table.schema->number == table;
  });
}

void Backups::write(const Backup& backup, engine::Batch& batch) {
  batch.put(std::string(kPrefix) + place_of(backup), encode(backup));
}

void Backups::note(Backup backup) {
  auto kept = std::make_shared<const Backup>(std::move(backup));
  const std::unique_lock lock(state_->mutex);
  state_->backups[place_of(*kept)] = std::move(kept);
}

Task<void> Backups::put(Backup backup) {
  const std::function<void(engine::Batch&)> body = [&](engine::Batch& batch) {
    write(backup, batch);
  };
  auto committing = commit(std::string(kPrefix) + place_of(backup), body);
  co_await committing;
  note(std::move(backup));
}

Task<bool> Backups::remove(BackupPtr backup) {
  const std::string place = place_of(*backup);
  {
    const std::unique_lock lock(state_->mutex);
    if (!state_->backups.contains(place) || !state_->in_use.insert(backup->arn()).second)
      co_return false;
  }
  const std::string key = std::string(kPrefix) + place;
  const std::function<void(engine::Batch&)> body = [&](engine::Batch& batch) { batch.erase(key); };
  std::exception_ptr error;
  try {
    auto committing = commit(key, body);
    co_await committing;
  } catch (...) {
    error = std::current_exception();
  }
  const std::unique_lock lock(state_->mutex);
  state_->in_use.erase(backup->arn());
  if (error) std::rethrow_exception(error);
  state_->backups.erase(place);
  co_return true;
}

Task<void> Backups::commit(std::string key, std::function<void(engine::Batch&)> body) {
  const std::function<void(const engine::Held&, engine::Batch&)> write =
      [&](const engine::Held&, engine::Batch& batch) { body(batch); };
  std::vector<std::string> keys{std::move(key)};
  auto pending = commit_records(engine_, state_->ids, "the record of a backup", std::move(keys),
                                write, kMaxRecordTries);
  co_await pending;
}

bool Backups::begin_use(const std::string& arn) {
  const std::unique_lock lock(state_->mutex);
  const bool there = std::any_of(state_->backups.begin(), state_->backups.end(),
                                 [&](const auto& entry) { return entry.second->arn() == arn; });
  return there && state_->in_use.insert(arn).second;
}

void Backups::end_use(const std::string& arn) {
  const std::unique_lock lock(state_->mutex);
  state_->in_use.erase(arn);
}

}  // namespace stator::catalog
