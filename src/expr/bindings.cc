#include "expr/bindings.h"

#include <algorithm>
#include <bit>

#include "model/error.h"

namespace stator::expr {
namespace {

constexpr size_t kMaxPlaceholderBytes = 255;

bool is_placeholder(std::string_view key, char sigil) {
  if (key.size() < 2 || key[0] != sigil) return false;
  return std::all_of(key.begin() + 1, key.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

// The place of a key in the service's hash set of `buckets` (a power of two); its messages list
// keys in that order.
uint32_t bucket_of(std::string_view key, uint32_t buckets) {
  uint32_t hash = 0;
  for (const char c : key) hash = hash * 31 + static_cast<unsigned char>(c);
  return (hash ^ (hash >> 16)) & (buckets - 1);
}

void throw_unused(std::string_view parameter, std::vector<std::string_view> unused, size_t total) {
  if (unused.empty()) return;
  const auto wanted = static_cast<uint32_t>(total * 4 / 3 + 1);
  const uint32_t buckets = std::max<uint32_t>(16, std::bit_ceil(wanted));
  std::stable_sort(unused.begin(), unused.end(), [buckets](std::string_view a, std::string_view b) {
    return bucket_of(a, buckets) < bucket_of(b, buckets);
  });
  std::string message = "Value provided in ";
  message += parameter;
  message += " unused in expressions: keys: {";
  for (size_t i = 0; i < unused.size(); ++i) {
    if (i > 0) message += ", ";
    message += unused[i];
  }
  message += '}';
  invalid(std::move(message));
}

std::string join(const std::vector<Parameter>& parameters, std::string_view separator) {
  std::string out;
  for (const Parameter& parameter : parameters) {
    if (!out.empty()) out += separator;
    out += parameter.name;
  }
  return out;
}

std::vector<Parameter> present(const std::vector<Parameter>& parameters) {
  std::vector<Parameter> out;
  std::copy_if(parameters.begin(), parameters.end(), std::back_inserter(out),
               [](const Parameter& parameter) { return parameter.present; });
  return out;
}

}  // namespace

std::string_view parameter_name(ExpressionKind kind) {
  switch (kind) {
    case ExpressionKind::kCondition:
      return "ConditionExpression";
    case ExpressionKind::kFilter:
      return "FilterExpression";
    case ExpressionKind::kKeyCondition:
      return "KeyConditionExpression";
    case ExpressionKind::kProjection:
      return "ProjectionExpression";
    case ExpressionKind::kUpdate:
      return "UpdateExpression";
  }
  return {};
}

Bindings::Bindings(std::optional<Names> names, std::optional<Values> values, Wording wording)
    : names_present_(names.has_value()), values_present_(values.has_value()), wording_(wording) {
  if (names) {
    names_.reserve(names->size());
    for (auto& [placeholder, attribute] : *names) {
      names_.push_back({std::move(placeholder), std::move(attribute), false});
    }
  }
  if (values) {
    values_.reserve(values->size());
    for (auto& [placeholder, value] : *values) {
      values_.push_back(
          {std::move(placeholder), std::make_shared<const model::Value>(std::move(value)), false});
    }
  }
  index_ = names_.size() > kLinear || values_.size() > kLinear;
  if (!index_) return;
  // A thousand placeholders fit into an expression; finding each among a thousand must not be slow.
  for (size_t i = 0; i < names_.size(); ++i) positions_.emplace(names_[i].placeholder, i);
  for (size_t i = 0; i < values_.size(); ++i) positions_.emplace(values_[i].placeholder, i);
}

void Bindings::check_names() const {
  if (!names_present_) return;
  if (names_.empty()) invalid("ExpressionAttributeNames must not be empty");
  for (const Name& name : names_) {
    if (name.placeholder.size() > kMaxPlaceholderBytes) {
      invalid(
          "ExpressionAttributeNames contains invalid key: The expression attribute map contains a "
          "key that is too "
          "long; size of key: " +
          std::to_string(name.placeholder.size()));
    }
    if (!is_placeholder(name.placeholder, '#')) {
      invalid("ExpressionAttributeNames contains invalid key: Syntax error; key: \"" +
              name.placeholder + "\"");
    }
    if (name.attribute.empty()) {
      invalid("ExpressionAttributeNames contains invalid value: Empty attribute name for key " +
              name.placeholder);
    }
  }
}

void Bindings::check_values() const {
  if (!values_present_) return;
  if (values_.empty()) invalid("ExpressionAttributeValues must not be empty");
  for (const Value& value : values_) check_value_key(value.placeholder);
}

void Bindings::check_value_key(std::string_view placeholder) {
  if (placeholder.size() > kMaxPlaceholderBytes) {
    invalid(
        "ExpressionAttributeValues contains invalid key: The expression attribute map contains a "
        "key that is too "
        "long;");
  }
  if (!is_placeholder(placeholder, ':')) {
    invalid("ExpressionAttributeValues contains invalid key: Syntax error; key: \"" +
            std::string(placeholder) + "\"");
  }
}

void Bindings::check_unused() const {
  std::vector<std::string_view> unused;
  for (const Name& name : names_) {
    if (!name.used) unused.push_back(name.placeholder);
  }
  throw_unused("ExpressionAttributeNames", std::move(unused), names_.size());
  unused.clear();
  for (const Value& value : values_) {
    if (!value.used) unused.push_back(value.placeholder);
  }
  throw_unused("ExpressionAttributeValues", std::move(unused), values_.size());
}

template <typename Entry>
Entry* Bindings::find(std::vector<Entry>& entries, std::string_view placeholder) {
  if (index_) {
    const auto found = positions_.find(placeholder);
    return found == positions_.end() ? nullptr : &entries[found->second];
  }
  for (Entry& entry : entries) {
    if (entry.placeholder == placeholder) return &entry;
  }
  return nullptr;
}

const std::string* Bindings::use_name(std::string_view placeholder) {
  Name* name = find(names_, placeholder);
  if (name == nullptr) return nullptr;
  name->used = true;
  return &name->attribute;
}

ValuePtr Bindings::use_value(std::string_view placeholder) {
  Value* value = find(values_, placeholder);
  if (value == nullptr) return nullptr;
  value->used = true;
  return value->value;
}

void check_not_mixed(const std::vector<Parameter>& legacy,
                     const std::vector<Parameter>& expressions) {
  const std::vector<Parameter> used_expressions = present(expressions);
  if (used_expressions.empty()) return;
  std::vector<Parameter> used_legacy = present(legacy);
  const bool has_key_expression = std::any_of(
      used_expressions.begin(), used_expressions.end(),
      [](const Parameter& parameter) { return parameter.name == "KeyConditionExpression"; });
  if (!has_key_expression) {
    std::erase_if(used_legacy,
                  [](const Parameter& parameter) { return parameter.name == "KeyConditions"; });
  }
  if (used_legacy.empty()) return;
  invalid(
      "Can not use both expression and non-expression parameters in the same request: "
      "Non-expression parameters: {" +
      join(used_legacy, ", ") + "} Expression parameters: {" + join(used_expressions, ", ") + "}");
}

void check_placeholders_allowed(const Bindings& bindings,
                                const std::vector<Parameter>& expressions) {
  if (bindings.has_names() && present(expressions).empty()) {
    invalid("ExpressionAttributeNames can only be specified when using expressions");
  }
  if (!bindings.has_values()) return;
  std::vector<Parameter> with_values = expressions;
  std::erase_if(with_values, [](const Parameter& parameter) {
    return parameter.name == "ProjectionExpression";
  });
  if (with_values.empty() || !present(with_values).empty()) return;
  std::string message = "ExpressionAttributeValues can only be specified when using expressions";
  if (bindings.wording() == Wording::kOlder) {
    message +=
        ": " + join(with_values, " and ") + (with_values.size() > 1 ? " are null" : " is null");
  }
  invalid(std::move(message));
}

}  // namespace stator::expr
