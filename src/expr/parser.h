// Parsed expressions: trees with their placeholders still in them, so that they can be kept by text
// (parse_cache.h). All checks that need no placeholder's meaning are done: syntax, parentheses,
// reserved words, functions, limits of size.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "expr/ast.h"
#include "expr/bindings.h"
#include "expr/update.h"

namespace stator::expr {

inline constexpr size_t kMaxExpressionBytes = 4096;
inline constexpr size_t kMaxOperators = 300;
inline constexpr size_t kMaxInOperands = 100;
inline constexpr size_t kMaxPathElements = 32;

struct ParsedElement {
  enum class Kind : uint8_t { kName, kPlaceholder, kIndex };
  Kind kind = Kind::kName;
  std::string text;  // the name, or the placeholder with its #
  uint32_t index = 0;
};
using ParsedPath = std::vector<ParsedElement>;

enum class Function : uint8_t {
  kAttributeExists,
  kAttributeNotExists,
  kAttributeType,
  kBeginsWith,
  kContains,
  kSize,
  kIfNotExists,
  kListAppend,
};
std::string_view function_name(Function function);
size_t function_arity(Function function);

struct ParsedOperand {
  enum class Kind : uint8_t { kPath, kValue, kCall, kPlus, kMinus };
  Kind kind = Kind::kPath;
  Function function = Function::kSize;  // kCall
  std::string text;  // kValue: the placeholder with its colon; kCall: the name as written
  ParsedPath path;   // kPath
  std::vector<ParsedOperand> arguments;  // kCall, kPlus, kMinus
};

struct ParsedNode {
  enum class Kind : uint8_t { kAnd, kOr, kNot, kCompare, kBetween, kIn, kCall };
  Kind kind = Kind::kCall;
  Condition::Kind comparison = Condition::Kind::kEqual;  // kCompare
  std::vector<ParsedNode> children;                      // kAnd, kOr, kNot
  std::vector<ParsedOperand> operands;  // the others; kCall has the call as its only one
};

struct ParsedCondition {
  ParsedNode root;
};

struct ParsedProjection {
  std::vector<ParsedPath> paths;
};

struct ParsedAction {
  UpdateAction::Kind kind = UpdateAction::Kind::kSet;
  ParsedPath path;
  ParsedOperand operand;  // not with kRemove
};

struct ParsedUpdate {
  std::vector<ParsedAction> actions;  // in the order written
};

// Each throws ApiError ("Invalid ConditionExpression: Syntax error; token: ...").
ParsedCondition parse_condition(std::string_view text, ExpressionKind kind);
ParsedProjection parse_projection(std::string_view text);
ParsedUpdate parse_update(std::string_view text);

// Throws a ValidationException "Invalid <parameter>: <problem>".
[[noreturn]] void invalid_expression(ExpressionKind kind, std::string_view problem);

}  // namespace stator::expr
