#include "partiql/tokens.h"

#include <algorithm>
#include <array>
#include <limits>

#include "model/error.h"
#include "partiql/keywords.h"

namespace stator::partiql {

namespace {

using Kind = Token::Kind;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
}
bool is_name_part(char c) {
  return is_name_start(c) || is_digit(c);
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

struct Symbol {
  std::string_view text;
  Kind kind;
};

// Longer ones first where one begins another.
constexpr Symbol kSymbols[] = {
    {"<<", Kind::kLeftDoubleAngle},
    {">>", Kind::kRightDoubleAngle},
    {"<=", Kind::kOperator},
    {">=", Kind::kOperator},
    {"<>", Kind::kOperator},
    {"!=", Kind::kOperator},
    {"||", Kind::kOperator},
    {"(", Kind::kLeftParen},
    {")", Kind::kRightParen},
    {"[", Kind::kLeftBracket},
    {"]", Kind::kRightBracket},
    {"{", Kind::kLeftCurly},
    {"}", Kind::kRightCurly},
    {":", Kind::kColon},
    {",", Kind::kComma},
    {"*", Kind::kStar},
    {";", Kind::kSemicolon},
    {"?", Kind::kQuestionMark},
    {".", Kind::kDot},
    {"+", Kind::kOperator},
    {"-", Kind::kOperator},
    {"/", Kind::kOperator},
    {"%", Kind::kOperator},
    {"=", Kind::kOperator},
    {"<", Kind::kOperator},
    {">", Kind::kOperator},
    {"@", Kind::kOperator},
};

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(source) {}

  std::vector<Token> run() {
    std::vector<Token> tokens;
    while (skip_blanks()) {
      begin_ = here_;
      Token token = next();
      token.at = begin_;
      token.at.length = characters_ - start_characters_;
      tokens.push_back(std::move(token));
    }
    Token end;
    end.at = here_;
    tokens.push_back(std::move(end));
    return tokens;
  }

 private:
  bool at_end() const { return next_ >= source_.size(); }
  char peek(size_t ahead = 0) const {
    return next_ + ahead < source_.size() ? source_[next_ + ahead] : '\0';
  }

  // Consumes a byte and keeps count of lines and columns. CR, LF and CRLF each end one line.
  void advance() {
    const char c = source_[next_++];
    if ((static_cast<unsigned char>(c) & 0xC0) == 0x80) return;  // inside a character
    ++characters_;
    const bool newline = c == '\n' || (c == '\r' && peek() != '\n');
    if (newline) {
      ++here_.line;
      here_.column = 1;
    } else {
      ++here_.column;
    }
  }
  void advance(size_t bytes) {
    for (size_t i = 0; i < bytes; ++i) advance();
  }

  // Blanks and comments. False at the end of the statement.
  bool skip_blanks() {
    while (!at_end()) {
      const char c = peek();
      if (c == ' ' || (c >= '\t' && c <= '\r')) {
        advance();
      } else if (c == '-' && peek(1) == '-') {
        while (!at_end() && peek() != '\n' && peek() != '\r') advance();
      } else if (c == '/' && peek(1) == '*') {
        const size_t close = source_.find("*/", next_ + 2);
        if (close == std::string_view::npos) malformed("");
        advance(close + 2 - next_);
      } else {
        start_characters_ = characters_;
        return true;
      }
    }
    start_characters_ = characters_;
    return false;
  }

  Token next() {
    const char c = peek();
    if (c == '\'') return {Kind::kString, quoted('\''), {}};
    if (c == '"') return {Kind::kQuotedIdentifier, quoted('"'), {}};
    if (is_digit(c) || (c == '.' && is_digit(peek(1)))) return number();
    if (is_name_start(c)) return word();
    return symbol();
  }

  // A doubled quote stands for one.
  std::string quoted(char quote) {
    std::string text;
    advance();
    for (;;) {
      if (at_end()) malformed("");
      const char c = peek();
      advance();
      if (c == quote) {
        if (peek() != quote || at_end()) return text;
        advance();
      }
      text.push_back(c);
    }
  }

  Token number() {
    const size_t begin = next_;
    size_t fraction_digits = 0;
    while (is_digit(peek())) advance();
    if (peek() == '.') {
      advance();
      for (; is_digit(peek()); ++fraction_digits) advance();
    }
    if (peek() == 'e' || peek() == 'E') {
      advance();
      check_exponent(fraction_digits);
    }
    return {Kind::kNumber, std::string(source_.substr(begin, next_ - begin)), {}};
  }

  // Exponent and scale fit 32 bits.
  void check_exponent(size_t fraction_digits) {
    const bool negative = peek() == '-';
    if (peek() == '-' || peek() == '+') advance();
    if (!is_digit(peek())) malformed("");
    constexpr int64_t kFar = int64_t{1} << 40;  // far outside, whatever follows
    int64_t exponent = 0;
    for (; is_digit(peek()); advance()) exponent = std::min(kFar, exponent * 10 + (peek() - '0'));
    if (negative) exponent = -exponent;
    const int64_t scale = static_cast<int64_t>(fraction_digits) - exponent;
    const auto fits = [](int64_t value) {
      return value >= std::numeric_limits<int32_t>::min() &&
             value <= std::numeric_limits<int32_t>::max();
    };
    if (!fits(exponent) || !fits(scale)) malformed("");
  }

  Token word() {
    const size_t begin = next_;
    while (is_name_part(peek())) advance();
    const std::string_view text = source_.substr(begin, next_ - begin);
    std::string folded = lower(text);
    if (folded == "true" || folded == "false") return {Kind::kBoolean, std::move(folded), {}};
    if (folded == "null") return {Kind::kNull, std::move(folded), {}};
    if (folded == "missing") return {Kind::kMissing, std::move(folded), {}};
    if (is_operator_word(folded)) return {Kind::kOperator, std::move(folded), {}};
    if (is_keyword(folded)) return {Kind::kKeyword, std::move(folded), {}};
    return {Kind::kIdentifier, std::string(text), {}};
  }

  Token symbol() {
    for (const Symbol& symbol : kSymbols) {
      if (source_.substr(next_, symbol.text.size()) != symbol.text) continue;
      advance(symbol.text.size());
      // The two spellings of "not equal" are one operator.
      return {symbol.kind, std::string(symbol.text == "!=" ? "<>" : symbol.text), {}};
    }
    malformed("");
  }

  std::string_view source_;
  size_t next_ = 0;
  uint32_t characters_ = 0;
  uint32_t start_characters_ = 0;
  Position here_;
  Position begin_;
};

bool is_word(const Token& token, std::string_view word) {
  return (token.is(Kind::kKeyword) || token.is(Kind::kOperator)) && token.text == word;
}

size_t words_in(const Phrase& phrase) {
  return static_cast<size_t>(std::count_if(std::begin(phrase.words), std::end(phrase.words),
                                           [](std::string_view word) { return !word.empty(); }));
}

// Puts words that belong together into one token.
std::vector<Token> join_phrases(std::vector<Token> tokens) {
  std::vector<Token> joined;
  joined.reserve(tokens.size());
  for (size_t i = 0; i < tokens.size();) {
    size_t taken = 1;
    for (const Phrase& phrase : phrases()) {
      const size_t count = words_in(phrase);
      if (i + count > tokens.size()) continue;
      bool matches = true;
      for (size_t k = 0; matches && k < count; ++k) {
        matches = is_word(tokens[i + k], phrase.words[k]);
      }
      if (!matches) continue;
      tokens[i].kind = phrase.is_operator ? Kind::kOperator : Kind::kKeyword;
      tokens[i].text = std::string(phrase.joined);
      taken = count;
      break;
    }
    joined.push_back(std::move(tokens[i]));
    i += taken;
  }
  return joined;
}

}  // namespace

std::string Position::to_string() const {
  return std::to_string(line) + ":" + std::to_string(column) + ":" + std::to_string(length);
}

std::vector<Token> tokenize(std::string_view statement) {
  const auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; };
  const auto inside = std::count_if(statement.begin(), statement.end(), continues);
  if (statement.size() - static_cast<size_t>(inside) > kMaxStatementCharacters ||
      statement.size() > 4 * kMaxStatementCharacters) {
    malformed("");
  }
  return join_phrases(Lexer(statement).run());
}

void malformed(std::string_view detail) {
  invalid("Statement wasn't well formed, can't be processed: " + std::string(detail));
}

}  // namespace stator::partiql
