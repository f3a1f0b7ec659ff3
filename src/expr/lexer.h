// Tokens of an expression. Any byte sequence can be cut into tokens; what is not part of the
// language becomes a kBad.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace stator::expr {

enum class Token : uint8_t {
  kEnd,
  kBad,
  kIdentifier,
  kName,   // #placeholder
  kValue,  // :placeholder
  kInteger,
  kAnd,
  kOr,
  kNot,
  kBetween,
  kIn,
  kSet,
  kRemove,
  kAdd,
  kDelete,
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kOpen,
  kClose,
  kOpenBracket,
  kCloseBracket,
  kComma,
  kDot,
  kPlus,
  kMinus,
};

inline bool is_keyword(Token token) {
  return token >= Token::kAnd && token <= Token::kDelete;
}

struct Lexeme {
  Token token = Token::kEnd;
  uint32_t begin = 0;  // bytes of the source
  uint32_t end = 0;
};

// Ends with a kEnd. The source is at most 4 KB (checked by the caller), so positions fit.
std::vector<Lexeme> tokenize(std::string_view source);

}  // namespace stator::expr
