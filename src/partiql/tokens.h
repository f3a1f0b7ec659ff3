// The words of a PartiQL statement. Cutting a statement into tokens is the first thing that can
// fail.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stator::partiql {

// Characters of a statement, as the API counts them.
inline constexpr size_t kMaxStatementCharacters = 8192;

// Where a token stands; lines and columns begin with 1 and count characters.
struct Position {
  uint32_t line = 1;
  uint32_t column = 1;
  uint32_t length = 0;

  std::string to_string() const;  // "1:13:10"
};

struct Token {
  enum class Kind : uint8_t {
    kEnd,
    kIdentifier,        // text: as written
    kQuotedIdentifier,  // text: without quotes
    kString,            // text: without quotes
    kNumber,            // text: as written, without a sign
    kBoolean,           // text: "true" or "false"
    kNull,
    kMissing,
    kKeyword,   // text: in lower case; words that belong together are one, as "insert_into"
    kOperator,  // text: a symbol, or as with keywords ("not_in")
    kStar,
    kQuestionMark,
    kLeftParen,
    kRightParen,
    kLeftBracket,
    kRightBracket,
    kLeftCurly,
    kRightCurly,
    kLeftDoubleAngle,
    kRightDoubleAngle,
    kComma,
    kColon,
    kSemicolon,
    kDot,
  };

  Kind kind = Kind::kEnd;
  std::string text;
  Position at;

  bool is(Kind k) const { return kind == k; }
  bool is_keyword(std::string_view word) const { return kind == Kind::kKeyword && text == word; }
  bool is_operator(std::string_view word) const { return kind == Kind::kOperator && text == word; }
  bool is_name() const { return kind == Kind::kIdentifier || kind == Kind::kQuotedIdentifier; }
};

// Ends with a kEnd. Throws what malformed() throws, without a detail.
std::vector<Token> tokenize(std::string_view statement);

// Throws "Statement wasn't well formed, can't be processed: <detail>".
[[noreturn]] void malformed(std::string_view detail);

}  // namespace stator::partiql
