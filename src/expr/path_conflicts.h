#pragma once

#include <vector>

#include "expr/bindings.h"
#include "expr/path.h"

namespace stator::expr {

// Throws if one path is the same as or inside another ("Two document paths overlap ..."), or two
// treat the same value as a list and as a map ("Two document paths conflict ...").
void check_path_conflicts(const std::vector<const Path*>& paths, ExpressionKind kind);

}  // namespace stator::expr
