#include "engine/frozen.h"

namespace stator::engine {

FrozenCopies& frozen_copies(Engine& engine) {
  auto* copies = dynamic_cast<FrozenCopies*>(&engine);
  if (copies == nullptr) throw EngineError("the engine makes no frozen copies");
  return *copies;
}

}  // namespace stator::engine
