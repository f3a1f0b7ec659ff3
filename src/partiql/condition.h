// The WHERE clause as a condition tree.
#pragma once

#include "expr/ast.h"
#include "partiql/ast.h"
#include "partiql/literal.h"

namespace stator::partiql {

// Throws ValidationException for operators, functions and operands that a condition cannot have.
expr::Condition condition_of(const Expr& expr, const Parameters& parameters);

// Throws "Incorrect operand type for operator or function; operator or function: <, operand type:
// BOOL".
[[noreturn]] void wrong_operand_type(std::string_view function, model::Type type);
// Throws unless a call has that many arguments.
void check_arity(const Expr& call, size_t arity);

}  // namespace stator::partiql
