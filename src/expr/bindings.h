// The placeholders of a request: ExpressionAttributeNames and ExpressionAttributeValues, and which
// of them were used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "expr/ast.h"
#include "model/value.h"

namespace stator::expr {

enum class ExpressionKind : uint8_t { kCondition, kFilter, kKeyCondition, kProjection, kUpdate };

// "ConditionExpression", "FilterExpression", ...
std::string_view parameter_name(ExpressionKind kind);

// The service words some messages in two ways, by operation: `kCurrent` on PutItem, UpdateItem,
// DeleteItem, GetItem, BatchGetItem and Query; `kOlder` on Scan, BatchWriteItem and transactions.
enum class Wording : uint8_t { kCurrent, kOlder };

// One per request (per action in a transaction); used by one thread. Entries keep the order of the
// request.
class Bindings {
 public:
  using Names = std::vector<std::pair<std::string, std::string>>;
  using Values = std::vector<std::pair<std::string, model::Value>>;

  Bindings() = default;
  // nullopt: the parameter was absent from the request. Checks nothing: see check_names and
  // check_values.
  Bindings(std::optional<Names> names, std::optional<Values> values,
           Wording wording = Wording::kCurrent);

  bool has_names() const { return names_present_; }
  bool has_values() const { return values_present_; }
  Wording wording() const { return wording_; }

  // "ExpressionAttributeNames must not be empty", keys that are no placeholders, empty attribute
  // names.
  void check_names() const;
  // "ExpressionAttributeValues must not be empty", keys that are no placeholders. The values
  // themselves were checked when they were read.
  void check_values() const;
  // The check of one key of ExpressionAttributeValues, for callers that check keys before they read
  // the values.
  static void check_value_key(std::string_view placeholder);
  // Throws if a placeholder was not used by any expression bound so far: names first, then values.
  void check_unused() const;

  // The attribute name behind "#n", or null; marks it used.
  const std::string* use_name(std::string_view placeholder);
  // The value behind ":v", or null; marks it used.
  ValuePtr use_value(std::string_view placeholder);

 private:
  struct Name {
    std::string placeholder;
    std::string attribute;
    bool used = false;
  };
  struct Value {
    std::string placeholder;
    ValuePtr value;
    bool used = false;
  };
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };

  template <typename Entry>
  Entry* find(std::vector<Entry>& entries, std::string_view placeholder);

  // Up to this many entries a walk over them is fastest.
  static constexpr size_t kLinear = 16;

  std::vector<Name> names_;
  std::vector<Value> values_;
  bool index_ = false;
  std::unordered_map<std::string, size_t, Hash, std::equal_to<>>
      positions_;  // names and values; the sigil tells them apart
  bool names_present_ = false;
  bool values_present_ = false;
  Wording wording_ = Wording::kCurrent;
};

// Parameters of a request by name, in the order in which the service lists those of that operation.
struct Parameter {
  std::string_view name;
  bool present = false;
};

// "Can not use both expression and non-expression parameters in the same request: ..." With
// KeyConditions but no KeyConditionExpression, KeyConditions does not count.
void check_not_mixed(const std::vector<Parameter>& legacy,
                     const std::vector<Parameter>& expressions);

// "ExpressionAttributeNames can only be specified when using expressions" and the same for values.
// `expressions` are all expression parameters of the operation; ProjectionExpression has no values.
void check_placeholders_allowed(const Bindings& bindings,
                                const std::vector<Parameter>& expressions);

}  // namespace stator::expr
