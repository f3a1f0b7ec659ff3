#include "expr/parser.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "expr/lexer.h"
#include "expr/reserved_words.h"
#include "model/error.h"

namespace stator::expr {
namespace {

// Nesting that the parser follows. Every level of a valid expression costs an operator, and
// parentheses around parentheses are refused, so an expression within the other limits stays far
// below.
constexpr size_t kMaxDepth = 640;
constexpr uint64_t kMaxListIndex = 2147483647;

struct FunctionFact {
  std::string_view name;
  Function function;
  size_t arity;
};
constexpr std::array<FunctionFact, 8> kFunctions = {{
    {"attribute_exists", Function::kAttributeExists, 1},
    {"attribute_not_exists", Function::kAttributeNotExists, 1},
    {"attribute_type", Function::kAttributeType, 2},
    {"begins_with", Function::kBeginsWith, 2},
    {"contains", Function::kContains, 2},
    {"size", Function::kSize, 1},
    {"if_not_exists", Function::kIfNotExists, 2},
    {"list_append", Function::kListAppend, 2},
}};

std::optional<Function> find_function(std::string_view name) {
  for (const FunctionFact& fact : kFunctions) {
    if (fact.name == name) return fact.function;
  }
  return std::nullopt;
}

bool is_update_function(Function function) {
  return function == Function::kIfNotExists || function == Function::kListAppend;
}

bool is_keyword_of(ExpressionKind kind, Token token) {
  if (kind == ExpressionKind::kProjection) return false;
  const bool of_updates = token >= Token::kSet;
  return of_updates == (kind == ExpressionKind::kUpdate);
}

std::optional<Condition::Kind> comparison_of(Token token) {
  switch (token) {
    case Token::kEqual:
      return Condition::Kind::kEqual;
    case Token::kNotEqual:
      return Condition::Kind::kNotEqual;
    case Token::kLess:
      return Condition::Kind::kLess;
    case Token::kLessEqual:
      return Condition::Kind::kLessEqual;
    case Token::kGreater:
      return Condition::Kind::kGreater;
    case Token::kGreaterEqual:
      return Condition::Kind::kGreaterEqual;
    default:
      return std::nullopt;
  }
}

// The size is part of the message only where conditions are meant.
void check_size(std::string_view text, ExpressionKind kind) {
  if (text.empty()) invalid_expression(kind, "The expression can not be empty;");
  if (text.size() <= kMaxExpressionBytes) return;
  std::string problem = "Expression size has exceeded the maximum allowed size;";
  if (kind == ExpressionKind::kCondition || kind == ExpressionKind::kFilter) {
    problem += " expression size: " + std::to_string(text.size());
  }
  invalid_expression(kind, problem);
}

// Recursive descent with one token of lookahead. Whether "(" opens a condition or an operand shows
// only later, so a parenthesis is parsed as whichever it turns out to be (Term).
class Parser {
 public:
  Parser(std::string_view text, ExpressionKind kind)
      : text_(text), kind_(kind), lexemes_(tokenize(text)) {
    // Keywords of the other kinds of expressions are names like others (most of them reserved).
    for (Lexeme& lexeme : lexemes_) {
      if (is_keyword(lexeme.token) && !is_keyword_of(kind, lexeme.token)) {
        lexeme.token = Token::kIdentifier;
      }
    }
  }

  ParsedCondition condition() {
    Term term = parse_or();
    ParsedCondition parsed{require_condition(std::move(term))};
    expect_end();
    return parsed;
  }

  ParsedProjection projection() {
    ParsedProjection parsed;
    parsed.paths.push_back(parse_path());
    while (take(Token::kComma)) parsed.paths.push_back(parse_path());
    expect_end();
    return parsed;
  }

  struct Section {
    UpdateAction::Kind kind;
    std::vector<ParsedAction> actions;
  };
  std::vector<Section> update() {
    std::vector<Section> sections;
    do {
      sections.push_back(parse_section());
    } while (token() != Token::kEnd);
    return sections;
  }

  size_t operators() const { return operators_; }

 private:
  // A condition, or an operand that may yet become one side of a condition.
  struct Term {
    bool is_operand = false;
    bool parenthesized = false;
    ParsedOperand operand;
    ParsedNode node;
  };

  Token token() const { return lexemes_[at_].token; }
  std::string_view lexeme() const {
    return text_.substr(lexemes_[at_].begin, lexemes_[at_].end - lexemes_[at_].begin);
  }
  bool take(Token wanted) {
    if (token() != wanted) return false;
    ++at_;
    return true;
  }
  void expect(Token wanted) {
    if (!take(wanted)) fail();
  }
  void expect_end() {
    if (token() != Token::kEnd) fail();
  }

  // Names the current token, and shows the text from the token before it to the one after.
  [[noreturn]] void fail() const { fail_at(at_); }
  [[noreturn]] void fail_at(size_t at) const {
    const Lexeme& bad = lexemes_[at];
    const size_t begin = at > 0 ? lexemes_[at - 1].begin : 0;
    const size_t end = at + 1 < lexemes_.size() ? lexemes_[at + 1].end : bad.end;
    std::string problem = "Syntax error; token: \"";
    problem += bad.token == Token::kEnd ? std::string_view("<EOF>")
                                        : text_.substr(bad.begin, bad.end - bad.begin);
    problem += "\", near: \"";
    problem += text_.substr(begin, end - begin);
    problem += '"';
    invalid_expression(kind_, problem);
  }

  // Ends parsing of an expression nested so deep that it cannot be valid, with what is most likely
  // wrong with it.
  [[noreturn]] void fail_too_deep() const {
    size_t open = 0;
    for (size_t i = 0; i < lexemes_.size(); ++i) {
      if (lexemes_[i].token == Token::kOpen) ++open;
      if (lexemes_[i].token != Token::kClose) continue;
      if (open == 0) fail_at(i);
      --open;
    }
    if (open > 0) fail_at(lexemes_.size() - 1);
    for (size_t i = 0; i + 1 < lexemes_.size(); ++i) {
      if (lexemes_[i].token == Token::kOpen && lexemes_[i + 1].token == Token::kOpen)
        fail_redundant();
    }
    for (size_t i = 0; i + 1 < lexemes_.size(); ++i) {
      if (lexemes_[i].token != Token::kIdentifier || lexemes_[i + 1].token != Token::kOpen)
        continue;
      const std::string_view name =
          text_.substr(lexemes_[i].begin, lexemes_[i].end - lexemes_[i].begin);
      if (!find_function(name))
        invalid_expression(kind_, "Invalid function name; function: " + std::string(name));
    }
    invalid_expression(kind_, "The expression contains too many operators; operator count: " +
                                  std::to_string(kMaxOperators + 1));
  }
  [[noreturn]] void fail_redundant() const {
    invalid_expression(kind_, "The expression has redundant parentheses;");
  }

  class Nested {
   public:
    explicit Nested(Parser& parser) : parser_(parser) {
      if (++parser_.depth_ > kMaxDepth) parser_.fail_too_deep();
    }
    ~Nested() { --parser_.depth_; }
    Nested(const Nested&) = delete;
    Nested& operator=(const Nested&) = delete;

   private:
    Parser& parser_;
  };

  // A call is a condition of its own; any other operand lacks its comparison.
  ParsedNode require_condition(Term term) {
    if (!term.is_operand) return std::move(term.node);
    if (term.operand.kind != ParsedOperand::Kind::kCall) fail();
    ParsedNode node;
    node.kind = ParsedNode::Kind::kCall;
    node.operands.push_back(std::move(term.operand));
    return node;
  }

  static Term condition_term(ParsedNode node) {
    Term term;
    term.node = std::move(node);
    return term;
  }

  Term parse_or() {
    Term first = parse_and();
    if (token() != Token::kOr) return first;
    ParsedNode node;
    node.kind = ParsedNode::Kind::kOr;
    node.children.push_back(require_condition(std::move(first)));
    while (take(Token::kOr)) {
      ++operators_;
      node.children.push_back(require_condition(parse_and()));
    }
    return condition_term(std::move(node));
  }

  Term parse_and() {
    Term first = parse_not();
    if (token() != Token::kAnd) return first;
    ParsedNode node;
    node.kind = ParsedNode::Kind::kAnd;
    node.children.push_back(require_condition(std::move(first)));
    while (take(Token::kAnd)) {
      ++operators_;
      node.children.push_back(require_condition(parse_not()));
    }
    return condition_term(std::move(node));
  }

  Term parse_not() {
    size_t count = 0;
    while (take(Token::kNot)) ++count;
    if (count == 0) return parse_comparison();
    operators_ += count;
    ParsedNode node = require_condition(parse_comparison());
    // Beyond the limit of operators the expression is refused anyway; no need to build it.
    for (size_t i = 0; i < std::min(count, kMaxOperators); ++i) {
      ParsedNode negated;
      negated.kind = ParsedNode::Kind::kNot;
      negated.children.push_back(std::move(node));
      node = std::move(negated);
    }
    return condition_term(std::move(node));
  }

  Term parse_comparison() {
    Term left = parse_primary();
    if (!left.is_operand) return left;
    ParsedNode node;
    if (const auto comparison = comparison_of(token())) {
      ++at_;
      node.kind = ParsedNode::Kind::kCompare;
      node.comparison = *comparison;
      node.operands.push_back(std::move(left.operand));
      node.operands.push_back(parse_operand());
    } else if (take(Token::kBetween)) {
      node.kind = ParsedNode::Kind::kBetween;
      node.operands.push_back(std::move(left.operand));
      node.operands.push_back(parse_operand());
      expect(Token::kAnd);
      node.operands.push_back(parse_operand());
    } else if (take(Token::kIn)) {
      node.kind = ParsedNode::Kind::kIn;
      node.operands.push_back(std::move(left.operand));
      expect(Token::kOpen);
      do {
        node.operands.push_back(parse_operand());
      } while (take(Token::kComma));
      expect(Token::kClose);
    } else {
      return left;
    }
    ++operators_;
    return condition_term(std::move(node));
  }

  Term parse_primary() {
    if (token() != Token::kOpen) {
      Term term;
      term.is_operand = true;
      term.operand = parse_operand();
      return term;
    }
    const Nested nested(*this);
    ++at_;
    Term inner = parse_or();
    expect(Token::kClose);
    if (inner.parenthesized) fail_redundant();
    inner.parenthesized = true;
    return inner;
  }

  ParsedOperand parse_operand() {
    bool parenthesized = false;
    return parse_operand(parenthesized);
  }

  ParsedOperand parse_operand(bool& parenthesized) {
    switch (token()) {
      case Token::kValue: {
        ParsedOperand operand;
        operand.kind = ParsedOperand::Kind::kValue;
        operand.text = lexeme();
        ++at_;
        return operand;
      }
      case Token::kOpen: {
        const Nested nested(*this);
        ++at_;
        ParsedOperand operand = parse_operand(parenthesized);
        expect(Token::kClose);
        if (parenthesized) fail_redundant();
        parenthesized = true;
        return operand;
      }
      case Token::kIdentifier:
        if (lexemes_[at_ + 1].token == Token::kOpen) return parse_call();
        [[fallthrough]];
      case Token::kName: {
        ParsedOperand operand;
        operand.path = parse_path();
        return operand;
      }
      default:
        fail();
    }
  }

  ParsedOperand parse_call() {
    const Nested nested(*this);
    ParsedOperand call;
    call.kind = ParsedOperand::Kind::kCall;
    call.text = lexeme();
    at_ += 2;
    ++operators_;
    do {
      call.arguments.push_back(parse_operand());
    } while (take(Token::kComma));
    expect(Token::kClose);
    return call;
  }

  ParsedElement parse_name() {
    if (token() != Token::kIdentifier && token() != Token::kName) fail();
    ParsedElement element;
    element.kind =
        token() == Token::kName ? ParsedElement::Kind::kPlaceholder : ParsedElement::Kind::kName;
    element.text = lexeme();
    ++at_;
    return element;
  }

  ParsedPath parse_path() {
    ParsedPath path;
    path.push_back(parse_name());
    while (true) {
      if (take(Token::kDot)) {
        path.push_back(parse_name());
      } else if (take(Token::kOpenBracket)) {
        if (token() != Token::kInteger) fail();
        ParsedElement element;
        element.kind = ParsedElement::Kind::kIndex;
        element.text = lexeme();  // its range is checked after the syntax
        ++at_;
        expect(Token::kCloseBracket);
        path.push_back(std::move(element));
      } else {
        return path;
      }
    }
  }

  Section parse_section() {
    Section section;
    switch (token()) {
      case Token::kSet:
        section.kind = UpdateAction::Kind::kSet;
        break;
      case Token::kRemove:
        section.kind = UpdateAction::Kind::kRemove;
        break;
      case Token::kAdd:
        section.kind = UpdateAction::Kind::kAdd;
        break;
      case Token::kDelete:
        section.kind = UpdateAction::Kind::kDelete;
        break;
      default:
        fail();
    }
    ++at_;
    do {
      ParsedAction action;
      action.kind = section.kind;
      action.path = parse_path();
      if (section.kind == UpdateAction::Kind::kSet) {
        expect(Token::kEqual);
        action.operand = parse_set_value();
      } else if (section.kind != UpdateAction::Kind::kRemove) {
        if (token() != Token::kValue) fail();
        action.operand = parse_operand();
      }
      section.actions.push_back(std::move(action));
    } while (take(Token::kComma));
    return section;
  }

  bool at_sum() const { return token() == Token::kPlus || token() == Token::kMinus; }

  ParsedOperand parse_sum(ParsedOperand left) {
    ParsedOperand sum;
    sum.kind = token() == Token::kPlus ? ParsedOperand::Kind::kPlus : ParsedOperand::Kind::kMinus;
    ++at_;
    ++operators_;
    sum.arguments.push_back(std::move(left));
    sum.arguments.push_back(parse_operand());
    return sum;
  }

  // An operand, or a sum of two. One pair of parentheses may stand around the sum.
  ParsedOperand parse_set_value() {
    if (token() != Token::kOpen) {
      ParsedOperand operand = parse_operand();
      return at_sum() ? parse_sum(std::move(operand)) : operand;
    }
    ++at_;
    bool parenthesized = false;
    ParsedOperand operand = parse_operand(parenthesized);
    if (at_sum()) {
      operand = parse_sum(std::move(operand));
      expect(Token::kClose);
      return operand;
    }
    expect(Token::kClose);
    if (parenthesized) fail_redundant();
    return at_sum() ? parse_sum(std::move(operand)) : operand;
  }

  std::string_view text_;
  ExpressionKind kind_;
  std::vector<Lexeme> lexemes_;
  size_t at_ = 0;
  size_t depth_ = 0;
  size_t operators_ = 0;
};

// What is checked after the syntax, in the order written: reserved words, list indexes, functions
// and their places.
class Checker {
 public:
  explicit Checker(ExpressionKind kind) : kind_(kind) {}

  void check(ParsedPath& path) const {
    for (ParsedElement& element : path) {
      if (element.kind == ParsedElement::Kind::kIndex) {
        check_index(element);
      } else if (element.kind == ParsedElement::Kind::kName && is_reserved_word(element.text)) {
        invalid_expression(
            kind_, "Attribute name is a reserved keyword; reserved keyword: " + element.text);
      }
    }
  }

  void check(ParsedNode& node) const {
    for (ParsedNode& child : node.children) check(child);
    for (ParsedOperand& operand : node.operands) {
      check(operand, node.kind == ParsedNode::Kind::kCall ? Place::kCondition : Place::kOperand);
    }
  }

  enum class Place { kCondition, kOperand, kSetValue, kSetArgument };

  void check(ParsedOperand& operand, Place place) const {
    switch (operand.kind) {
      case ParsedOperand::Kind::kPath:
        check(operand.path);
        return;
      case ParsedOperand::Kind::kValue:
        return;
      case ParsedOperand::Kind::kPlus:
      case ParsedOperand::Kind::kMinus:
        for (ParsedOperand& argument : operand.arguments) check(argument, place);
        return;
      case ParsedOperand::Kind::kCall:
        check_call(operand, place);
        for (ParsedOperand& argument : operand.arguments) {
          check(argument, place == Place::kSetValue || place == Place::kSetArgument
                              ? Place::kSetArgument
                              : Place::kOperand);
        }
        return;
    }
  }

 private:
  void check_index(ParsedElement& element) const {
    uint64_t index = 0;
    bool in_range = element.text.size() <= 10;
    for (const char digit : element.text) {
      if (in_range) index = index * 10 + static_cast<uint64_t>(digit - '0');
    }
    in_range = in_range && index <= kMaxListIndex;
    if (!in_range) {
      invalid_expression(
          kind_, "List index is not within the allowable range; index: [" + element.text + "]");
    }
    element.index = static_cast<uint32_t>(index);
    element.text.clear();
  }

  void check_call(ParsedOperand& call, Place place) const {
    const auto function = find_function(call.text);
    if (!function) invalid_expression(kind_, "Invalid function name; function: " + call.text);
    call.function = *function;
    const bool in_update = place == Place::kSetValue || place == Place::kSetArgument;
    if (in_update) {
      if (!is_update_function(*function)) {
        invalid_expression(
            kind_, "The function is not allowed in an update expression; function: " + call.text);
      }
      if (place == Place::kSetArgument && *function == Function::kListAppend) fail_misused(call);
      return;
    }
    if (is_update_function(*function)) {
      invalid_expression(
          kind_, "The function is not allowed in a condition expression; function: " + call.text);
    }
    if ((place == Place::kOperand) != (*function == Function::kSize)) fail_misused(call);
  }

  [[noreturn]] void fail_misused(const ParsedOperand& call) const {
    invalid_expression(
        kind_,
        "The function is not allowed to be used this way in an expression; function: " + call.text);
  }

  ExpressionKind kind_;
};

void check_operators(size_t count, ExpressionKind kind) {
  if (count <= kMaxOperators) return;
  // The service stops counting at the first one too many.
  invalid_expression(kind, "The expression contains too many operators; operator count: " +
                               std::to_string(kMaxOperators + 1));
}

std::string_view section_name(UpdateAction::Kind kind) {
  switch (kind) {
    case UpdateAction::Kind::kSet:
      return "SET";
    case UpdateAction::Kind::kRemove:
      return "REMOVE";
    case UpdateAction::Kind::kAdd:
      return "ADD";
    case UpdateAction::Kind::kDelete:
      return "DELETE";
  }
  return {};
}

// A section at a time, in the order in which each kind first appears; each kind may appear once.
void check_sections(std::vector<Parser::Section>& sections) {
  const Checker checker(ExpressionKind::kUpdate);
  for (size_t i = 0; i < sections.size(); ++i) {
    const UpdateAction::Kind kind = sections[i].kind;
    const auto same = [kind](const Parser::Section& section) { return section.kind == kind; };
    if (std::find_if(sections.begin(), sections.begin() + static_cast<std::ptrdiff_t>(i), same) !=
        sections.begin() + static_cast<std::ptrdiff_t>(i)) {
      continue;
    }
    size_t count = 0;
    for (Parser::Section& section : sections) {
      if (section.kind != kind) continue;
      ++count;
      for (ParsedAction& action : section.actions) {
        checker.check(action.path);
        if (kind != UpdateAction::Kind::kRemove)
          checker.check(action.operand, Checker::Place::kSetValue);
      }
    }
    if (count > 1) {
      invalid_expression(ExpressionKind::kUpdate,
                         "The \"" + std::string(section_name(kind)) +
                             "\" section can only be used once in an update expression;");
    }
  }
}

}  // namespace

std::string_view function_name(Function function) {
  return kFunctions[static_cast<size_t>(function)].name;
}

size_t function_arity(Function function) {
  return kFunctions[static_cast<size_t>(function)].arity;
}

void invalid_expression(ExpressionKind kind, std::string_view problem) {
  std::string message = "Invalid ";
  message += parameter_name(kind);
  message += ": ";
  message += problem;
  invalid(std::move(message));
}

ParsedCondition parse_condition(std::string_view text, ExpressionKind kind) {
  check_size(text, kind);
  Parser parser(text, kind);
  ParsedCondition parsed = parser.condition();
  Checker(kind).check(parsed.root);
  check_operators(parser.operators(), kind);
  return parsed;
}

ParsedProjection parse_projection(std::string_view text) {
  check_size(text, ExpressionKind::kProjection);
  ParsedProjection parsed = Parser(text, ExpressionKind::kProjection).projection();
  const Checker checker(ExpressionKind::kProjection);
  for (ParsedPath& path : parsed.paths) checker.check(path);
  return parsed;
}

ParsedUpdate parse_update(std::string_view text) {
  check_size(text, ExpressionKind::kUpdate);
  Parser parser(text, ExpressionKind::kUpdate);
  std::vector<Parser::Section> sections = parser.update();
  check_sections(sections);
  check_operators(parser.operators(), ExpressionKind::kUpdate);
  ParsedUpdate parsed;
  for (Parser::Section& section : sections) {
    for (ParsedAction& action : section.actions) parsed.actions.push_back(std::move(action));
  }
  return parsed;
}

}  // namespace stator::expr
