#include "expr/lexer.h"

#include <array>
#include <cstddef>
#include <utility>

namespace stator::expr {
namespace {

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_word(char c) {
  return is_letter(c) || is_digit(c) || c == '_';
}

bool equals_ignoring_case(std::string_view word, std::string_view upper) {
  if (word.size() != upper.size()) return false;
  for (size_t i = 0; i < word.size(); ++i) {
    const char c =
        word[i] >= 'a' && word[i] <= 'z' ? static_cast<char>(word[i] - 'a' + 'A') : word[i];
    if (c != upper[i]) return false;
  }
  return true;
}

Token word_token(std::string_view word) {
  static constexpr std::array<std::pair<std::string_view, Token>, 9> kKeywords = {{
      {"AND", Token::kAnd},
      {"OR", Token::kOr},
      {"NOT", Token::kNot},
      {"BETWEEN", Token::kBetween},
      {"IN", Token::kIn},
      {"SET", Token::kSet},
      {"REMOVE", Token::kRemove},
      {"ADD", Token::kAdd},
      {"DELETE", Token::kDelete},
  }};
  if (word.size() < 2 || word.size() > 7) return Token::kIdentifier;
  for (const auto& [keyword, token] : kKeywords) {
    if (equals_ignoring_case(word, keyword)) return token;
  }
  return Token::kIdentifier;
}

// Bytes of the UTF-8 character that begins with `lead`, so that a message never shows half a
// character.
size_t character_size(unsigned char lead) {
  if (lead >= 0xF0) return 4;
  if (lead >= 0xE0) return 3;
  if (lead >= 0xC0) return 2;
  return 1;
}

Token punctuation(char c) {
  switch (c) {
    case '=':
      return Token::kEqual;
    case '(':
      return Token::kOpen;
    case ')':
      return Token::kClose;
    case '[':
      return Token::kOpenBracket;
    case ']':
      return Token::kCloseBracket;
    case ',':
      return Token::kComma;
    case '.':
      return Token::kDot;
    case '+':
      return Token::kPlus;
    case '-':
      return Token::kMinus;
    default:
      return Token::kBad;
  }
}

// The token at the start of `rest`, which is not empty and does not begin with a space, and its
// length.
std::pair<Token, size_t> next_token(std::string_view rest) {
  const char c = rest[0];
  const char following = rest.size() > 1 ? rest[1] : '\0';
  size_t end = 1;
  if (is_letter(c)) {
    while (end < rest.size() && is_word(rest[end])) ++end;
    return {word_token(rest.substr(0, end)), end};
  }
  if (c == '#' || c == ':') {
    while (end < rest.size() && is_word(rest[end])) ++end;
    if (end == 1) return {Token::kBad, 1};
    return {c == '#' ? Token::kName : Token::kValue, end};
  }
  if (is_digit(c)) {
    // No number begins with a zero but zero itself.
    while (c != '0' && end < rest.size() && is_digit(rest[end])) ++end;
    return {Token::kInteger, end};
  }
  if (c == '<') {
    if (following == '>') return {Token::kNotEqual, 2};
    if (following == '=') return {Token::kLessEqual, 2};
    return {Token::kLess, 1};
  }
  if (c == '>') {
    if (following == '=') return {Token::kGreaterEqual, 2};
    return {Token::kGreater, 1};
  }
  const Token token = punctuation(c);
  if (token != Token::kBad) return {token, 1};
  const size_t size = character_size(static_cast<unsigned char>(c));
  return {Token::kBad, size < rest.size() ? size : rest.size()};
}

}  // namespace

std::vector<Lexeme> tokenize(std::string_view source) {
  std::vector<Lexeme> lexemes;
  lexemes.reserve(source.size() / 3 + 2);
  size_t at = 0;
  while (true) {
    while (at < source.size() && is_space(source[at])) ++at;
    if (at == source.size()) break;
    const auto [token, size] = next_token(source.substr(at));
    lexemes.push_back({token, static_cast<uint32_t>(at), static_cast<uint32_t>(at + size)});
    at += size;
  }
  const auto end = static_cast<uint32_t>(source.size());
  lexemes.push_back({Token::kEnd, end, end});
  return lexemes;
}

}  // namespace stator::expr
