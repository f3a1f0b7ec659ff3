// The limits of the contract, enforced the same way by every engine.
#pragma once

#include <string_view>

#include "engine/engine.h"

namespace stator::engine {

// Each throws EngineError that names the limit. Keys from 0xFF on belong to the engines.
void check_key(std::string_view key);
void check_limits(const Mutation& mutation);
void check_limits(const Batch& batch);

}  // namespace stator::engine
