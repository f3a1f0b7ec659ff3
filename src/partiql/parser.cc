#include "partiql/parser.h"

#include <algorithm>
#include <utility>

#include "partiql/keywords.h"

namespace stator::partiql {

namespace {

using Kind = Token::Kind;

// Expressions inside a clause of SELECT do not take in a following UNION.
constexpr int kClausePrecedence = 6;
constexpr int kNotPrecedence = 30;

class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  Statement statement() {
    Statement result;
    result.root = expression();
    const bool semicolon = accept(Kind::kSemicolon);
    if (!peek().is(Kind::kEnd)) {
      malformed(semicolon ? "Unexpected token after semicolon. (Only one query is allowed.)"
                          : "Unexpected token after expression");
    }
    result.parameters = parameters_;
    return result;
  }

 private:
  // --- tokens

  const Token& peek(size_t ahead = 0) const {
    return tokens_[std::min(next_ + ahead, tokens_.size() - 1)];
  }
  const Token& take() {
    const Token& token = peek();
    if (next_ + 1 < tokens_.size()) ++next_;
    return token;
  }
  bool accept(Kind kind) {
    if (!peek().is(kind)) return false;
    take();
    return true;
  }
  bool accept_keyword(std::string_view word) {
    if (!peek().is_keyword(word)) return false;
    take();
    return true;
  }
  void expect(Kind kind, std::string_view name) {
    if (!accept(kind)) malformed("Expected " + std::string(name));
  }
  void expect_keyword(std::string_view word, std::string_view problem) {
    if (!accept_keyword(word)) malformed(problem);
  }

  // --- nodes

  static Expr node(Expr::Kind kind, const Token& token) {
    Expr expr;
    expr.kind = kind;
    expr.text = token.text;
    expr.at = token.at;
    return expr;
  }
  static void add(Expr& parent, Expr child) {
    parent.depth = std::max(parent.depth, child.depth + 1);
    if (parent.depth > kMaxTreeDepth) malformed("");
    parent.children.push_back(std::move(child));
  }
  // AND and OR have any number of operands: one that is the same kind gives its own.
  static void add_operand(Expr& parent, Expr operand) {
    if (operand.kind != parent.kind) {
      add(parent, std::move(operand));
      return;
    }
    for (Expr& child : operand.children) add(parent, std::move(child));
  }
  template <typename Form>
  static Expr statement_node(const Token& token, Form form) {
    Expr expr = node(Expr::Kind::kStatement, token);
    expr.statement = std::make_shared<const StatementNode>(StatementNode{std::move(form)});
    return expr;
  }

  class Nested {
   public:
    explicit Nested(Parser& parser) : parser_(parser) {
      if (++parser_.nesting_ > kMaxNesting) malformed("");
    }
    ~Nested() { --parser_.nesting_; }
    Nested(const Nested&) = delete;
    Nested& operator=(const Nested&) = delete;

   private:
    Parser& parser_;
  };

  // --- expressions

  Expr expression(int above = 0) {
    const Nested nested(*this);
    Expr left = unary();
    while (infix_precedence(peek()) > above) {
      const Token op = take();
      left = infix(op, std::move(left));
    }
    return left;
  }

  Expr infix(const Token& op, Expr left) {
    const std::string& text = op.text;
    if (text == "is" || text == "is_not") return type_test(op, std::move(left));
    Expr right = (text == "in" || text == "not_in") && peek().is(Kind::kLeftParen)
                     ? parenthesized_list()
                     : right_side(op);
    if (text == "between" || text == "not_between") {
      return between(op, std::move(left), std::move(right));
    }
    Expr result = node(infix_kind(op), op);
    result.negated = text == "not_in" || text == "not_like";
    if (result.is(Expr::Kind::kAnd) || result.is(Expr::Kind::kOr)) {
      if (left.kind == result.kind) {
        left.at = op.at;
        add_operand(left, std::move(right));
        return left;
      }
      add(result, std::move(left));
      add_operand(result, std::move(right));
      return result;
    }
    add(result, std::move(left));
    add(result, std::move(right));
    if (result.is(Expr::Kind::kLike) && accept_keyword("escape")) {
      expression(infix_precedence(op));
    }
    return result;
  }

  static Expr::Kind infix_kind(const Token& op) {
    if (op.is(Kind::kStar)) return Expr::Kind::kArithmetic;
    if (op.text == "and") return Expr::Kind::kAnd;
    if (op.text == "or") return Expr::Kind::kOr;
    if (op.text == "in" || op.text == "not_in") return Expr::Kind::kIn;
    if (op.text == "like" || op.text == "not_like") return Expr::Kind::kLike;
    const int precedence = infix_precedence(op);
    if (precedence == kSetPrecedence) return Expr::Kind::kSetOperator;
    return precedence < 60 ? Expr::Kind::kCompare : Expr::Kind::kArithmetic;
  }

  Expr right_side(const Token& op) {
    if (peek().is(Kind::kEnd)) malformed("Missing right-hand side expression of infix operator");
    return expression(infix_precedence(op));
  }

  Expr between(const Token& op, Expr value, Expr lower) {
    if (!peek().is_operator("and")) malformed("Expected AND keyword");
    take();
    if (peek().is(Kind::kEnd)) malformed("Expected expression after AND");
    Expr upper = expression(infix_precedence(op));
    Expr result = node(Expr::Kind::kBetween, op);
    result.negated = op.text == "not_between";
    add(result, std::move(value));
    add(result, std::move(lower));
    add(result, std::move(upper));
    return result;
  }

  Expr type_test(const Token& op, Expr value) {
    const std::string_view type = type_name(peek());
    if (type.empty()) malformed("Expected type name");
    take();
    if (peek().is(Kind::kLeftParen)) parenthesized_list();  // DECIMAL(5, 2)
    Expr result = node(Expr::Kind::kIs, op);
    result.text = std::string(type);
    result.negated = op.text == "is_not";
    add(result, std::move(value));
    return result;
  }

  Expr unary() {
    const Nested nested(*this);
    if (peek().is_operator("not")) {
      Expr result = node(Expr::Kind::kNot, take());
      add(result, expression(kNotPrecedence));
      return result;
    }
    if (peek().is_operator("+") || peek().is_operator("-")) {
      const Token sign = take();
      Expr term = unary();
      // A sign becomes part of a number, at whose place it then stands.
      if (term.is(Expr::Kind::kNumber)) {
        if (sign.text == "-") {
          if (term.text.front() == '-') {
            term.text.erase(0, 1);
          } else {
            term.text.insert(0, "-");
          }
        }
        return term;
      }
      Expr result = node(Expr::Kind::kSign, sign);
      add(result, std::move(term));
      return result;
    }
    return path(term());
  }

  Expr path(Expr root) {
    if (!peek().is(Kind::kDot) && !peek().is(Kind::kLeftBracket)) return root;
    Expr result;
    result.kind = Expr::Kind::kPath;
    result.at = root.at;
    result.text = root.text;
    add(result, std::move(root));
    for (;;) {
      if (accept(Kind::kDot)) {
        if (peek().is_name()) {
          add(result, node(Expr::Kind::kName, take()));
        } else if (peek().is(Kind::kStar)) {
          add(result, node(Expr::Kind::kStar, take()));
        } else {
          malformed("Invalid path dot component");
        }
      } else if (accept(Kind::kLeftBracket)) {
        if (peek().is(Kind::kStar)) {
          add(result, node(Expr::Kind::kStar, take()));
        } else {
          Expr index = node(Expr::Kind::kIndex, peek());
          add(index, expression());
          add(result, std::move(index));
        }
        expect(Kind::kRightBracket, "RIGHT_BRACKET");
      } else {
        return result;
      }
    }
  }

  // The target of a change: begins with a name.
  Expr simple_path() {
    if (!peek().is_name()) malformed("Expected identifier for simple path");
    return path(node(Expr::Kind::kName, take()));
  }

  Expr term() {
    const Token& token = peek();
    switch (token.kind) {
      case Kind::kOperator:
        return operator_term();
      case Kind::kKeyword:
        return keyword_term();
      case Kind::kIdentifier:
      case Kind::kQuotedIdentifier:
        if (peek(1).is(Kind::kLeftParen)) return call();
        return node(Expr::Kind::kName, take());
      case Kind::kString:
        return node(Expr::Kind::kString, take());
      case Kind::kNumber:
        return node(Expr::Kind::kNumber, take());
      case Kind::kNull:
        return node(Expr::Kind::kNull, take());
      case Kind::kMissing:
        return node(Expr::Kind::kMissing, take());
      case Kind::kBoolean: {
        Expr result = node(Expr::Kind::kBoolean, take());
        result.truth = result.text == "true";
        return result;
      }
      case Kind::kQuestionMark: {
        Expr result = node(Expr::Kind::kParameter, take());
        result.parameter = parameters_++;
        return result;
      }
      case Kind::kLeftParen:
        return group();
      case Kind::kLeftBracket:
        return collection(Expr::Kind::kList, Kind::kRightBracket, "RIGHT_BRACKET");
      case Kind::kLeftDoubleAngle:
        return collection(Expr::Kind::kBag, Kind::kRightDoubleAngle, "RIGHT_DOUBLE_ANGLE_BRACKET");
      case Kind::kLeftCurly:
        return structure();
      default:
        malformed("Unexpected term");
    }
  }

  Expr operator_term() {
    if (!peek().is_operator("@")) malformed("Unexpected operator");
    take();
    if (!peek().is_name()) malformed("Identifier must follow @-operator");
    return node(Expr::Kind::kName, take());
  }

  Expr keyword_term() {
    const Token& token = peek();
    if (token.text == "select") return select();
    if (token.text == "insert_into") return insert();
    if (token.text == "update") return update();
    if (token.text == "from") return from_first();
    if (token.text == "delete") return erase();
    if (is_function_keyword(token.text) && peek(1).is(Kind::kLeftParen)) return call();
    malformed("Unexpected keyword");
  }

  // One expression in parentheses is that expression; several are a list.
  Expr group() {
    Expr list = parenthesized_list();
    if (list.children.size() != 1) return list;
    Expr only = std::move(list.children.front());
    return only;
  }

  Expr parenthesized_list() {
    Expr list = node(Expr::Kind::kList, take());
    arguments(list);
    expect(Kind::kRightParen, "RIGHT_PAREN");
    return list;
  }

  void arguments(Expr& into) {
    do {
      add(into, expression());
    } while (accept(Kind::kComma));
  }

  Expr collection(Expr::Kind kind, Kind close, std::string_view close_name) {
    Expr result = node(kind, take());
    if (accept(close)) return result;
    arguments(result);
    expect(close, close_name);
    return result;
  }

  Expr structure() {
    Expr result = node(Expr::Kind::kStruct, take());
    if (accept(Kind::kRightCurly)) return result;
    do {
      add(result, expression());
      expect(Kind::kColon, "COLON");
      add(result, expression());
    } while (accept(Kind::kComma));
    expect(Kind::kRightCurly, "RIGHT_CURLY");
    return result;
  }

  Expr call() {
    Expr result = node(Expr::Kind::kCall, take());
    for (char& c : result.text) {
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    take();  // the parenthesis
    if (is_aggregate(result.text)) {
      if (!accept_keyword("distinct")) accept_keyword("all");
      if (peek().is(Kind::kStar)) {
        add(result, node(Expr::Kind::kStar, take()));
        expect(Kind::kRightParen, "RIGHT_PAREN");
        return result;
      }
    }
    if (accept(Kind::kRightParen)) return result;
    arguments(result);
    expect(Kind::kRightParen, "RIGHT_PAREN");
    return result;
  }

  // --- statements

  Expr select() {
    const Token head = take();
    SelectStatement select;
    if (peek().is_keyword("distinct")) {
      select.unsupported.push_back({"DISTINCT", take().at});
    } else {
      accept_keyword("all");
    }
    if (peek().is_keyword("value")) {
      select.unsupported.push_back({"SELECT VALUE", take().at});
      select.columns.push_back({expression(kClausePrecedence), false});
    } else {
      select_list(select);
    }
    expect_keyword("from", "Expected FROM after SELECT list");
    sources(select.from);
    select.where = where();
    if (peek().is_keyword("group")) group_by(select);
    unsupported_clause(select, "having", "HAVING");
    if (accept_keyword("order")) order_by(select);
    unsupported_clause(select, "limit", "LIMIT");
    unsupported_clause(select, "offset", "OFFSET");
    return statement_node(head, std::move(select));
  }

  void select_list(SelectStatement& select) {
    bool others = false;
    do {
      if (accept(Kind::kStar)) {
        others = others || select.all;
        select.all = true;
      } else {
        if (peek().is(Kind::kKeyword) && is_clause_keyword(peek().text)) {
          malformed("Expected identifier or an expression but found unexpected keyword '" +
                    peek().text + "' in a select list.");
        }
        SelectColumn column;
        column.expr = expression(kClausePrecedence);
        column.has_alias = alias();
        select.columns.push_back(std::move(column));
        others = true;
      }
    } while (accept(Kind::kComma));
    if (select.all && others) {
      malformed(
          "Other expressions may not be present in the select list when '*' is used without dot "
          "notation.");
    }
  }

  // [AS] name. True if there was one.
  bool alias() {
    if (accept_keyword("as")) {
      if (!peek().is_name()) malformed("Expected identifier for AS-alias");
      take();
      return true;
    }
    if (!peek().is_name()) return false;
    take();
    return true;
  }

  // The aliases that may follow a source.
  bool source_aliases() {
    bool any = alias();
    for (const std::string_view word : {"at", "by"}) {
      if (!accept_keyword(word)) continue;
      if (!peek().is_name()) {
        malformed(word == "at" ? "Expected identifier for AT-alias"
                               : "Expected identifier for BY-alias");
      }
      take();
      any = true;
    }
    return any;
  }

  void sources(std::vector<Source>& into) {
    bool more = true;
    while (more) {
      Source source;
      source.path = expression(kClausePrecedence);
      source.has_alias = source_aliases();
      into.push_back(std::move(source));
      if (into.size() > 1 && accept_keyword("on")) expression(kClausePrecedence);
      more = accept(Kind::kComma) || accept_keyword("join");
    }
  }

  std::optional<Expr> where() {
    if (!accept_keyword("where")) return std::nullopt;
    return expression(kClausePrecedence);
  }

  void group_by(SelectStatement& select) {
    select.unsupported.push_back({"GROUP BY", take().at});
    accept_keyword("partial");
    expect_keyword("by", "Expected BY");
    do {
      expression(kClausePrecedence);
      alias();
    } while (accept(Kind::kComma));
    if (accept_keyword("group")) alias();
  }

  void unsupported_clause(SelectStatement& select, std::string_view word, std::string_view name) {
    if (!accept_keyword(word)) return;
    const Expr expr = expression(kClausePrecedence);
    select.unsupported.push_back({std::string(name), expr.at});
  }

  void order_by(SelectStatement& select) {
    expect_keyword("by", "Expected BY");
    do {
      OrderTerm term;
      term.expr = expression(kClausePrecedence);
      term.descending = accept_keyword("desc");
      if (!term.descending) accept_keyword("asc");
      if (accept_keyword("nulls") && !accept_keyword("first")) {
        expect_keyword("last", "Expected FIRST OR LAST keyword");
      }
      select.order.push_back(std::move(term));
    } while (accept(Kind::kComma));
  }

  Expr insert() {
    const Token head = take();
    InsertStatement insert;
    insert.into.path = simple_path();
    insert.has_value_keyword = accept_keyword("value");
    insert.value = expression();
    if (insert.has_value_keyword) {
      if (accept_keyword("at")) {
        expression();
        insert.has_other_clauses = true;
      }
      if (accept_keyword("on_conflict")) {
        expect_keyword("where", "Expected WHERE");
        expression();
        expect_keyword("do_nothing", "Expected DO NOTHING");
        insert.has_other_clauses = true;
      }
    }
    insert.returning = returning();
    return statement_node(head, std::move(insert));
  }

  Expr update() {
    const Token head = take();
    UpdateStatement update;
    update.target.path = simple_path();
    update.target.has_alias = source_aliases();
    update.changes = changes();
    update.where = where();
    update.returning = returning();
    return statement_node(head, std::move(update));
  }

  Expr from_first() {
    const Token head = take();
    UpdateStatement update;
    std::vector<Source> from;
    sources(from);
    update.where = where();
    update.changes = changes();
    update.returning = returning();
    update.target = std::move(from.front());
    update.target.has_alias = update.target.has_alias || from.size() > 1;
    return statement_node(head, std::move(update));
  }

  Expr erase() {
    const Token head = take();
    DeleteStatement erase;
    expect_keyword("from", "Expected FROM after DELETE");
    erase.target.path = simple_path();
    erase.target.has_alias = source_aliases();
    erase.where = where();
    erase.returning = returning();
    return statement_node(head, std::move(erase));
  }

  std::vector<Change> changes() {
    std::vector<Change> list;
    for (;;) {
      if (accept_keyword("set")) {
        do {
          list.push_back(assignment());
        } while (accept(Kind::kComma));
      } else if (accept_keyword("remove")) {
        Change change;
        change.kind = Change::Kind::kRemove;
        change.path = simple_path();
        list.push_back(std::move(change));
      } else if (peek().is_keyword("insert_into")) {
        Change change;
        change.kind = Change::Kind::kInsert;
        change.path = insert();
        list.push_back(std::move(change));
      } else {
        break;
      }
    }
    if (list.empty()) malformed("Expected data manipulation");
    return list;
  }

  Change assignment() {
    Change change;
    change.path = simple_path();
    if (!peek().is_operator("=")) malformed("Expected '='");
    take();
    change.value = expression();
    return change;
  }

  std::vector<Returning> returning() {
    std::vector<Returning> elements;
    if (!accept_keyword("returning")) return elements;
    do {
      Returning element;
      const Token mapping = take();
      const bool known = mapping.is(Kind::kKeyword) &&
                         (mapping.text == "all_old" || mapping.text == "all_new" ||
                          mapping.text == "modified_old" || mapping.text == "modified_new");
      if (!known) {
        malformed("Expected ( MODIFIED | ALL ) ( NEW | OLD ) in each returning element.");
      }
      element.all = mapping.text.starts_with("all");
      element.old = mapping.text.ends_with("old");
      element.star = accept(Kind::kStar);
      if (!element.star) expression();
      elements.push_back(element);
    } while (accept(Kind::kComma));
    return elements;
  }

  std::vector<Token> tokens_;  // ends with a kEnd
  size_t next_ = 0;
  size_t nesting_ = 0;
  uint32_t parameters_ = 0;
};

}  // namespace

std::string Returning::to_string() const {
  return std::string("RETURNING ") + (all ? "ALL " : "MODIFIED ") + (old ? "OLD" : "NEW") +
         (star ? " *" : "");
}

Statement parse(std::string_view statement) {
  return Parser(tokenize(statement)).statement();
}

}  // namespace stator::partiql
