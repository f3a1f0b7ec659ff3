// The words of the language, as tables.
#pragma once

#include <span>
#include <string_view>

#include "partiql/tokens.h"

namespace stator::partiql {

// Whether a word (in lower case) cannot be used as a name without quotes.
bool is_keyword(std::string_view word);

// Words that are operators rather than keywords: and, or, not, is, in, like, between.
bool is_operator_word(std::string_view word);

// Several words that the grammar treats as one.
struct Phrase {
  std::string_view words[3];  // the last ones may be empty
  std::string_view joined;
  bool is_operator;
};
std::span<const Phrase> phrases();

// How tightly an infix operator binds; 0 if the token is none.
inline constexpr int kSetPrecedence = 5;  // UNION and its kin
int infix_precedence(const Token& token);

// The type that a word after IS names, in one spelling for all that mean the same; empty if it
// names none.
std::string_view type_name(const Token& token);

// Keywords that are functions if a parenthesis follows; those of them that take COUNT's star and
// DISTINCT.
bool is_function_keyword(std::string_view word);
bool is_aggregate(std::string_view word);
// Keywords that a column cannot begin with.
bool is_clause_keyword(std::string_view word);

}  // namespace stator::partiql
