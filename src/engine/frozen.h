// Frozen copies: what an engine holds at one moment, kept beside it under a name until it is
// dropped. A part of the contract that stands alone, since only backups need it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/engine.h"

namespace stator::engine {

// Thread-safe.
class FrozenCopies {
 public:
  virtual ~FrozenCopies() = default;
  // Makes a copy of everything that is committed; it includes what was acknowledged before the call
  // and nothing that was begun after it. It may leave out what is outside of `keep`. The copy is as
  // durable as the engine, and whole or not there at all, after a crash too. Throws EngineError.
  virtual Task<void> freeze(std::string name, Range keep) = 0;
  // A view of a copy, which may be kept as long as the copy is. The copy takes memory only while
  // views of it live. Throws EngineError if there is no such copy or it is damaged.
  virtual std::unique_ptr<View> view_frozen(const std::string& name) = 0;
  // Nothing if there is no such copy. Nobody may have a view of it.
  virtual Task<void> drop_frozen(std::string name) = 0;
  // Names of the copies there are, sorted.
  virtual std::vector<std::string> frozen() = 0;
};

// Those of an engine. Throws EngineError if it has none.
FrozenCopies& frozen_copies(Engine& engine);

}  // namespace stator::engine
