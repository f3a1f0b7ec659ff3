// Puts the names and values of a request into a parsed expression, and checks what depends on them.
#pragma once

#include "expr/ast.h"
#include "expr/bindings.h"
#include "expr/parser.h"
#include "expr/projection.h"
#include "expr/update.h"

namespace stator::expr {

Condition bind(const ParsedCondition& parsed, ExpressionKind kind, Bindings& bindings);
Projection bind(const ParsedProjection& parsed, Bindings& bindings);
Update bind(const ParsedUpdate& parsed, Bindings& bindings);

}  // namespace stator::expr
