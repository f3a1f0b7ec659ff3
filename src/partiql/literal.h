// Values and document paths that stand in a statement.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "expr/ast.h"
#include "expr/path.h"
#include "model/value.h"
#include "partiql/ast.h"

namespace stator::partiql {

using Parameters = std::vector<model::Value>;

// A literal with everything in it. Throws for what is no value, naming its place from "root".
model::Value literal(const Expr& expr);

// A literal or the value of a question mark.
expr::ValuePtr value_of(const Expr& expr, const Parameters& parameters);

// Whether the expression is a literal or a question mark.
bool is_value(const Expr& expr);

bool is_path(const Expr& expr);
// Throws if a step is no name and no index.
expr::Path document_path(const Expr& expr);

// What the service calls an expression when it is out of place: "Id", "Parameter", "Plus", a
// function's own name.
std::string node_name(const Expr& expr);

}  // namespace stator::partiql
