#include "partiql/keywords.h"

#include <algorithm>
#include <iterator>

namespace stator::partiql {

namespace {

// Sorted.
// clang-format off
constexpr std::string_view kKeywords[] = {
    "absolute", "action", "add", "all", "allocate", "alter", "any", "are", "as", "asc",
    "assertion", "at", "authorization", "avg", "bag", "begin", "bigint", "bit", "bit_length",
    "blob", "bool", "boolean", "by", "can_cast", "can_lossless_cast", "cascade", "cascaded",
    "case", "cast", "catalog", "char", "char_length", "character", "character_length", "check",
    "clob", "close", "coalesce", "collate", "collation", "column", "commit", "conflict", "connect",
    "connection", "constraint", "constraints", "continue", "convert", "corresponding", "count",
    "create", "cross", "current", "current_date", "current_time", "current_timestamp",
    "current_user", "cursor", "date", "date_add", "date_diff", "deallocate", "dec", "decimal",
    "declare", "default", "deferrable", "deferred", "delete", "desc", "describe", "descriptor",
    "diagnostics", "disconnect", "distinct", "do", "domain", "double", "drop", "else", "end",
    "escape", "except", "exception", "exec", "execute", "exists", "external", "extract", "fetch",
    "first", "float", "for", "foreign", "found", "from", "full", "get", "global", "go", "goto",
    "grant", "group", "having", "identity", "immediate", "index", "indicator", "initially",
    "inner", "input", "insensitive", "insert", "int", "int2", "int4", "int8", "integer",
    "integer2", "integer4", "integer8", "intersect", "interval", "into", "isolation", "join",
    "key", "language", "last", "left", "let", "level", "limit", "list", "local", "lower", "match",
    "max", "min", "modified", "module", "names", "national", "natural", "nchar", "new", "next",
    "no", "nothing", "nullif", "nulls", "numeric", "octet_length", "of", "offset", "old", "on",
    "only", "open", "option", "order", "outer", "output", "overlaps", "pad", "partial", "pivot",
    "position", "precision", "prepare", "preserve", "primary", "prior", "privileges", "procedure",
    "public", "read", "real", "references", "relative", "remove", "restrict", "returning",
    "revoke", "right", "rollback", "rows", "schema", "scroll", "section", "select", "session",
    "session_user", "set", "sexp", "size", "smallint", "some", "space", "sql", "sqlcode",
    "sqlerror", "sqlstate", "string", "struct", "substring", "sum", "symbol", "system_user",
    "table", "temporary", "then", "time", "timestamp", "to", "transaction", "translate",
    "translation", "trim", "tuple", "union", "unique", "unknown", "unpivot", "update", "upper",
    "usage", "user", "using", "value", "values", "varchar", "varying", "view", "when", "whenever",
    "where", "with", "work", "write", "zone",
};
// clang-format on

constexpr std::string_view kOperatorWords[] = {"and", "between", "in", "is", "like", "not", "or"};

// Longer ones first where one begins another.
constexpr Phrase kPhrases[] = {
    {{"not", "in", {}}, "not_in", true},
    {{"is", "not", {}}, "is_not", true},
    {{"not", "between", {}}, "not_between", true},
    {{"not", "like", {}}, "not_like", true},
    {{"union", "all", {}}, "union_all", true},
    {{"except", "all", {}}, "except_all", true},
    {{"intersect", "all", {}}, "intersect_all", true},
    {{"union", {}, {}}, "union", true},
    {{"except", {}, {}}, "except", true},
    {{"intersect", {}, {}}, "intersect", true},
    {{"insert", "into", {}}, "insert_into", false},
    {{"all", "old", {}}, "all_old", false},
    {{"all", "new", {}}, "all_new", false},
    {{"modified", "old", {}}, "modified_old", false},
    {{"modified", "new", {}}, "modified_new", false},
    {{"on", "conflict", {}}, "on_conflict", false},
    {{"do", "nothing", {}}, "do_nothing", false},
    {{"character", "varying", {}}, "character_varying", false},
    {{"double", "precision", {}}, "double_precision", false},
    {{"left", "outer", "join"}, "join", false},
    {{"right", "outer", "join"}, "join", false},
    {{"full", "outer", "join"}, "join", false},
    {{"left", "join", {}}, "join", false},
    {{"right", "join", {}}, "join", false},
    {{"full", "join", {}}, "join", false},
    {{"outer", "join", {}}, "join", false},
    {{"inner", "join", {}}, "join", false},
    {{"cross", "join", {}}, "join", false},
    {{"join", {}, {}}, "join", false},
};

struct Precedence {
  std::string_view text;
  int precedence;
};
// clang-format off
constexpr Precedence kPrecedences[] = {
    {"union", kSetPrecedence}, {"union_all", kSetPrecedence},
    {"except", kSetPrecedence}, {"except_all", kSetPrecedence},
    {"intersect", kSetPrecedence}, {"intersect_all", kSetPrecedence},
    {"or", 10}, {"and", 20},
    {"=", 40}, {"<>", 40}, {"is", 40}, {"is_not", 40}, {"in", 40}, {"not_in", 40},
    {"<", 50}, {"<=", 50}, {">", 50}, {">=", 50},
    {"between", 50}, {"not_between", 50}, {"like", 50}, {"not_like", 50},
    {"+", 60}, {"-", 60}, {"||", 60}, {"/", 70}, {"%", 70},
};

struct TypeWord {
  std::string_view word;
  std::string_view type;
};
constexpr TypeWord kTypeWords[] = {
    {"boolean", "boolean"}, {"bool", "boolean"},
    {"smallint", "integer"}, {"integer2", "integer"}, {"int2", "integer"}, {"integer4", "integer"},
    {"int4", "integer"}, {"integer8", "integer"}, {"int8", "integer"}, {"bigint", "integer"},
    {"integer", "integer"}, {"int", "integer"},
    {"float", "decimal"}, {"real", "decimal"}, {"double_precision", "decimal"},
    {"decimal", "decimal"}, {"dec", "decimal"}, {"numeric", "decimal"},
    {"timestamp", "timestamp"}, {"date", "timestamp"}, {"time", "timestamp"},
    {"character", "string"}, {"char", "string"}, {"character_varying", "string"},
    {"varchar", "string"}, {"string", "string"}, {"symbol", "symbol"},
    {"clob", "blob"}, {"blob", "blob"},
    {"struct", "struct"}, {"tuple", "struct"}, {"list", "list"}, {"sexp", "sexp"}, {"bag", "bag"},
    {"any", "any"},
};

constexpr std::string_view kFunctionKeywords[] = {
    "exists", "count", "avg", "max", "min", "sum", "char_length", "character_length",
    "octet_length", "bit_length", "upper", "lower", "size", "sexp", "list", "bag",
};
constexpr std::string_view kAggregates[] = {"count", "avg", "max", "min", "sum"};
constexpr std::string_view kClauseKeywords[] = {
    "from", "where", "group", "having", "order", "limit", "offset", "set", "remove", "insert_into",
    "update", "delete", "returning",
};
// clang-format on

template <size_t N>
bool contains(const std::string_view (&words)[N], std::string_view word) {
  return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

}  // namespace

bool is_keyword(std::string_view word) {
  return std::binary_search(std::begin(kKeywords), std::end(kKeywords), word);
}

bool is_operator_word(std::string_view word) {
  return std::binary_search(std::begin(kOperatorWords), std::end(kOperatorWords), word);
}

std::span<const Phrase> phrases() {
  return kPhrases;
}

// --- for the parser

int infix_precedence(const Token& token) {
  if (token.is(Token::Kind::kStar)) return 70;
  if (!token.is(Token::Kind::kOperator)) return 0;
  for (const Precedence& entry : kPrecedences) {
    if (entry.text == token.text) return entry.precedence;
  }
  return 0;
}

std::string_view type_name(const Token& token) {
  if (token.is(Token::Kind::kMissing)) return "missing";
  if (token.is(Token::Kind::kNull)) return "null";
  if (!token.is(Token::Kind::kKeyword)) return {};
  for (const TypeWord& entry : kTypeWords) {
    if (entry.word == token.text) return entry.type;
  }
  return {};
}

bool is_function_keyword(std::string_view word) {
  return contains(kFunctionKeywords, word);
}
bool is_aggregate(std::string_view word) {
  return contains(kAggregates, word);
}
bool is_clause_keyword(std::string_view word) {
  return contains(kClauseKeywords, word);
}

}  // namespace stator::partiql
