// The backups there are, as data. Kept in the engine, mirrored in memory like the catalog itself;
// they outlive their tables.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/table.h"
#include "common/task.h"
#include "engine/engine.h"

namespace stator::catalog {

struct Backup {
  std::string
      id;  // "01489173575360-b308cd7d": when it was made, in milliseconds, and a random part
  std::string name;  // as it was asked for
  // Made when a table with point-in-time recovery was deleted: its items stay where they were.
  // Otherwise they are in the engine's frozen copy of the name `id`.
  bool system = false;
  bool available = false;  // false while the copy is being made
  int64_t created_ms = 0;
  std::optional<int64_t> expires_ms;
  Table table;  // as it was
  int64_t items = 0;
  int64_t bytes = 0;

  std::string arn() const { return table.arn + "/backup/" + id; }
};
using BackupPtr = std::shared_ptr<const Backup>;

// The record of a backup in the engine. Throws CorruptRecord.
Backup decode_backup(std::string_view record);

// Thread-safe.
class Backups {
 public:
  // Reads everything from the engine. A backup that was being made when the process ended was never
  // answered for: it is forgotten, with its copy. Throws engine::EngineError or CorruptRecord.
  explicit Backups(engine::Engine& engine);
  ~Backups();

  // "01489173575360-b308cd7d" of a time; of a system backup the random part is 0.
  std::string make_id(int64_t time_ms, bool system);

  // Null if there is none.
  BackupPtr find(std::string_view table_name, std::string_view id) const;
  // By time, then by the table's name.
  std::vector<BackupPtr> list() const;
  // True if the items of a deleted table are a system backup.
  bool keeps(model::TableNumber table) const;

  // Keeps a new backup or a changed one.
  Task<void> put(Backup backup);
  // The same as part of another change: write() into its batch, and note() once it is committed.
  static void write(const Backup& backup, engine::Batch& batch);
  void note(Backup backup);
  // False if it is in use or not there.
  Task<bool> remove(BackupPtr backup);

  // A backup feeds one restore at a time and is not deleted meanwhile. False if it is in use, or
  // not there.
  bool begin_use(const std::string& arn);
  void end_use(const std::string& arn);

 private:
  struct State;
  Task<void> commit(std::string key, std::function<void(engine::Batch&)> body);

  engine::Engine& engine_;
  std::unique_ptr<State> state_;
};

}  // namespace stator::catalog
