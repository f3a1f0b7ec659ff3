#pragma once

#include <string_view>

namespace stator::expr {

// Whether `word`, in any case, is one of the words that the service does not take as an attribute
// name in an expression.
bool is_reserved_word(std::string_view word);

}  // namespace stator::expr
