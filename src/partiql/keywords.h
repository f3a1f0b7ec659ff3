#pragma once

#include <span>
#include <string_view>

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

}  // namespace stator::partiql
