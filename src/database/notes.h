// Small durable things beside the tables: what a user of the database wants to find again after a
// restart. Kept in the engine below 'm' 'k'.
#pragma once

#include "common/ids.h"
#include "common/task.h"
#include "database/database.h"
#include "engine/engine.h"

namespace stator {

// Thread-safe.
class Notes {
 public:
  explicit Notes(engine::Engine& engine) : engine_(engine) {}

  // As Database::keep and Database::kept. Throw engine::EngineError if the engine cannot.
  Task<void> keep(std::vector<Note> notes);
  Task<std::vector<Note>> kept(std::string prefix);

 private:
  engine::Engine& engine_;
  RandomIds ids_;
};

}  // namespace stator
