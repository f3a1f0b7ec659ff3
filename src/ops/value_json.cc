#include "ops/value_json.h"

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "common/base64.h"
#include "common/bytes.h"
#include "json/writer.h"
#include "model/codec.h"
#include "model/error.h"

namespace stator::ops {

namespace {

using expr::Wording;
using model::Number;
using model::Value;

constexpr size_t kLargeMap = 256;
constexpr std::string_view kInvalid = "One or more parameter values were invalid: ";

[[noreturn]] void throw_bad_number(std::string_view text, Number::ParseError error,
                                   Wording wording) {
  switch (error) {
    case Number::ParseError::kOverflow:
      invalid(
          "Number overflow. Attempting to store a number with magnitude larger than supported "
          "range");
    case Number::ParseError::kUnderflow:
      invalid(
          "Number underflow. Attempting to store a number with magnitude smaller than supported "
          "range");
    case Number::ParseError::kTooManyDigits:
      invalid("Attempting to store more than 38 significant digits in a Number");
    default:
      break;
  }
  if (text.empty() && wording == Wording::kOlder)
    invalid("The parameter cannot be converted to a numeric value");
  invalid("The parameter cannot be converted to a numeric value: " + std::string(text));
}

// The older layer reads an exponent into 32 bits, where 2147483647 wraps around while the digits
// are counted.
bool wraps_exponent(std::string_view text) {
  const size_t e = text.find_first_of("eE");
  return e != std::string_view::npos && text.substr(e + 1) == "2147483647";
}

// Nor can it read a number whose exponent, or whose scale (digits after the point less the
// exponent), needs more.
bool has_wide_exponent(std::string_view text) {
  const size_t e = text.find_first_of("eE");
  if (e == std::string_view::npos) return false;
  const size_t point = text.find('.');
  const int64_t fraction = point < e ? static_cast<int64_t>(e - point - 1) : 0;
  const bool negative = text.substr(e + 1).starts_with('-');
  constexpr int64_t kFar = int64_t{1} << 40;  // outside, whatever follows
  int64_t exponent = 0;
  for (const char c : text.substr(e + 1)) {
    if (c >= '0' && c <= '9') exponent = std::min(kFar, exponent * 10 + (c - '0'));
  }
  if (negative) exponent = -exponent;
  const auto fits = [](int64_t value) { return value >= INT32_MIN && value <= INT32_MAX; };
  return !fits(exponent) || !fits(fraction - exponent);
}

Number read_number(std::string_view text, Wording wording) {
  Number::ParseError error = Number::ParseError::kNone;
  const auto number = Number::parse(text, &error);
  if (number) return *number;
  if (wording == Wording::kOlder && has_wide_exponent(text))
    error = Number::ParseError::kNotANumber;
  if (wording == Wording::kOlder && error == Number::ParseError::kOverflow &&
      wraps_exponent(text)) {
    error = Number::ParseError::kUnderflow;
  }
  throw_bad_number(text, error, wording);
}

std::string_view text_of(const json::Element& element) {
  std::string_view text;
  if (element.get(text) != simdjson::SUCCESS)
    throw ApiError("SerializationException", "Unexpected value type in payload");
  return text;
}

std::string bytes_of(const json::Element& element) {
  auto bytes = decode_base64(text_of(element));
  if (!bytes)
    throw ApiError("SerializationException", "Invalid last non-pad Base64 character dectected");
  return std::move(*bytes);
}

// How duplicates are shown: in byte order up to the first repeat, then the repeat, then the rest as
// sent (observed by paritysuite, 2026-10-09); the older layer prints the members as sent.
template <typename Print>
std::string show_members(const std::vector<std::string>& sent, Wording wording,
                         std::string_view comma, Print print) {
  std::vector<std::string> shown;
  if (wording == Wording::kOlder) {
    shown = sent;
  } else {
    std::set<std::string_view> seen;
    size_t i = 0;
    while (i < sent.size() && seen.insert(sent[i]).second) ++i;
    shown.assign(seen.begin(), seen.end());
    shown.insert(shown.end(), sent.begin() + static_cast<std::ptrdiff_t>(i), sent.end());
  }
  std::string out = "[";
  for (size_t i = 0; i < shown.size(); ++i) {
    if (i > 0) out.append(comma);
    print(out, shown[i]);
  }
  out.push_back(']');
  return out;
}

bool has_duplicates(std::vector<std::string> members) {
  std::sort(members.begin(), members.end());
  return std::adjacent_find(members.begin(), members.end()) != members.end();
}

Value read_string_set(const json::ArrayElement& array, Wording wording) {
  std::vector<std::string> members;
  members.reserve(array.size());
  for (const json::Element element : array) members.emplace_back(text_of(element));
  if (members.empty()) invalid(std::string(kInvalid) + "An string set  may not be empty");
  if (has_duplicates(members)) {
    const bool older = wording == Wording::kOlder;
    const std::string shown =
        show_members(members, wording, ", ", [older](std::string& out, const std::string& member) {
          if (!older) out.push_back('"');
          out.append(member);
          if (!older) out.push_back('"');
        });
    invalid(std::string(kInvalid) + "Input collection " + shown + " contains duplicates.");
  }
  return Value::string_set(std::move(members));
}

Value read_number_set(const json::ArrayElement& array, Wording wording) {
  std::vector<Number> members;
  members.reserve(array.size());
  for (const json::Element element : array)
    members.push_back(read_number(text_of(element), wording));
  if (members.empty()) invalid(std::string(kInvalid) + "An number set  may not be empty");
  std::sort(members.begin(), members.end());
  if (std::adjacent_find(members.begin(), members.end()) != members.end()) {
    if (wording == Wording::kOlder) invalid("Input collection contains duplicates");
    invalid(std::string(kInvalid) + "Input collection contains duplicates.");
  }
  return Value::number_set(std::move(members));
}

Value read_binary_set(const json::ArrayElement& array, Wording wording) {
  std::vector<std::string> members;
  members.reserve(array.size());
  for (const json::Element element : array) members.push_back(bytes_of(element));
  if (members.empty()) invalid(std::string(kInvalid) + "Binary sets should not be empty");
  if (has_duplicates(members)) {
    const bool older = wording == Wording::kOlder;
    const std::string shown = show_members(members, wording, older ? ", " : ",",
                                           [older](std::string& out, const std::string& member) {
                                             if (!older) out.push_back('"');
                                             append_base64(out, member);
                                             if (!older) out.push_back('"');
                                           });
    invalid(std::string(kInvalid) + "Input collection " + shown +
            "of type BS contains duplicates.");
  }
  return Value::binary_set(std::move(members));
}

Value read_nested(const json::Element& element, Wording wording, int depth);

// Of many attributes in any order: sorted once, since to put each in its place takes the square of
// their number. Of a name that is there twice the last one holds, as below.
model::Map sorted(std::vector<model::Attribute> attributes) {
  std::stable_sort(attributes.begin(), attributes.end(),
                   [](const auto& a, const auto& b) { return a.name < b.name; });
  model::Map map;
  map.reserve(attributes.size());
  for (size_t i = 0; i < attributes.size(); ++i) {
    const bool is_last = i + 1 == attributes.size() || attributes[i + 1].name != attributes[i].name;
    if (is_last) map.append_sorted(std::move(attributes[i].name), std::move(attributes[i].value));
  }
  return map;
}

model::Map read_large_map(const json::ObjectElement& object, Wording wording, int depth) {
  std::vector<model::Attribute> attributes;
  attributes.reserve(object.size());
  for (const auto field : object) {
    if (field.key.empty()) invalid("Empty attribute name");
    if (field.value.is_null()) continue;
    attributes.push_back({std::string(field.key), read_nested(field.value, wording, depth)});
  }
  return sorted(std::move(attributes));
}

model::Map read_map(const json::ObjectElement& object, Wording wording, int depth) {
  if (object.size() > kLargeMap) return read_large_map(object, wording, depth);
  model::Map map;
  map.reserve(object.size());
  for (const auto field : object) {
    if (field.key.empty()) invalid("Empty attribute name");
    if (field.value.is_null()) continue;
    map.set(field.key, read_nested(field.value, wording, depth));
  }
  return map;
}

std::optional<Value> read_typed(std::string_view type, const json::Element& element,
                                Wording wording, int depth) {
  json::ArrayElement array;
  json::ObjectElement object;
  if (type == "S") return Value::string(std::string(text_of(element)));
  if (type == "N") return Value::number(read_number(text_of(element), wording));
  if (type == "B") return Value::binary(bytes_of(element));
  if (type == "BOOL") return Value::boolean(json::to_bool(element).value_or(false));
  if (type == "NULL") {
    if (!json::to_bool(element).value_or(false)) {
      invalid(std::string(kInvalid) + "Null attribute value types must have the value of true");
    }
    return Value::null();
  }
  if (type == "M" && element.get(object) == simdjson::SUCCESS)
    return Value::map(read_map(object, wording, depth + 1));
  if (element.get(array) != simdjson::SUCCESS) return std::nullopt;
  if (type == "L") {
    model::List list;
    list.reserve(array.size());
    for (const json::Element member : array)
      list.push_back(read_nested(member, wording, depth + 1));
    return Value::list(std::move(list));
  }
  if (type == "SS") return read_string_set(array, wording);
  if (type == "NS") return read_number_set(array, wording);
  if (type == "BS") return read_binary_set(array, wording);
  return std::nullopt;
}

[[noreturn]] void throw_too_deep() {
  invalid(
      "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels "
      "beyond supported "
      "limit");
}

// Lists and maps around the innermost value; stops counting at `enough`.
int nesting(const json::Element& value, int enough) {
  json::ObjectElement object;
  if (enough <= 0 || value.get(object) != simdjson::SUCCESS) return 0;
  int deepest = 0;
  const auto look = [&](const json::Element& child) {
    if (deepest < enough) deepest = std::max(deepest, 1 + nesting(child, enough - 1));
  };
  for (const auto field : object) {
    json::ObjectElement map;
    json::ArrayElement list;
    if (field.key == "M" && field.value.get(map) == simdjson::SUCCESS) {
      deepest = std::max(deepest, 1);
      for (const auto member : map) look(member.value);
    } else if (field.key == "L" && field.value.get(list) == simdjson::SUCCESS) {
      deepest = std::max(deepest, 1);
      for (const json::Element element : list) look(element);
    }
  }
  return deepest;
}

Value read_nested(const json::Element& element, Wording wording, int depth) {
  if (depth > kMaxNesting) throw_too_deep();
  json::ObjectElement object;
  if (element.get(object) != simdjson::SUCCESS) {
    throw ApiError("SerializationException", "Unexpected value type in payload");
  }
  std::optional<Value> value;
  int types = 0;
  for (const auto field : object) {
    if (field.value.is_null()) continue;
    auto typed = read_typed(field.key, field.value, wording, depth);
    if (!typed) continue;
    value = std::move(typed);
    ++types;
  }
  if (types == 0)
    invalid(
        "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes");
  if (types > 1) {
    invalid(
        "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the "
        "supported "
        "datatypes");
  }
  return std::move(*value);
}

}  // namespace

Value read_value(const json::Element& element, Wording wording) {
  return read_nested(element, wording, 0);
}

model::Item read_item(const json::Element& element, Wording wording) {
  json::ObjectElement object;
  if (element.get(object) != simdjson::SUCCESS) return {};
  if (wording == Wording::kOlder) {
    // Names of the item itself, then how deep its values go, then everything inside them.
    for (const auto field : object) {
      if (field.key.empty()) invalid("Empty attribute name");
    }
    for (const auto field : object) {
      if (nesting(field.value, kMaxNesting + 1) > kMaxNesting) throw_too_deep();
    }
  }
  return read_map(object, wording, 0);
}

int value_depth(const json::Element& element, int enough) {
  if (enough <= 0) return 0;
  int deepest = 0;
  json::ObjectElement object;
  json::ArrayElement array;
  const auto look = [&](const json::Element& child, int own) {
    if (deepest < enough) deepest = std::max(deepest, own + value_depth(child, enough - own));
  };
  if (element.get(object) == simdjson::SUCCESS) {
    for (const auto field : object) look(field.value, field.key == "M" || field.key == "L" ? 1 : 0);
  } else if (element.get(array) == simdjson::SUCCESS) {
    for (const json::Element child : array) look(child, 0);
  }
  return deepest;
}

void append_value(std::string& out, const Value& value) {
  out.append("{\"");
  out.append(model::type_name(value.type()));
  out.append("\":");
  switch (value.type()) {
    case model::Type::kString:
      json::append_quoted(out, value.as_string());
      break;
    case model::Type::kNumber:
      out.push_back('"');
      value.as_number().append_to(out);
      out.push_back('"');
      break;
    case model::Type::kBinary:
      out.push_back('"');
      append_base64(out, value.as_binary());
      out.push_back('"');
      break;
    case model::Type::kBool:
      out.append(value.as_bool() ? "true" : "false");
      break;
    case model::Type::kNull:
      out.append("true");
      break;
    case model::Type::kMap:
      append_item(out, value.as_map());
      break;
    case model::Type::kList: {
      json::Array array(out);
      for (const Value& element : value.as_list()) append_value(array.element(), element);
      array.close();
      break;
    }
    case model::Type::kStringSet: {
      json::Array array(out);
      for (const auto& member : value.as_string_set()) json::append_quoted(array.element(), member);
      array.close();
      break;
    }
    case model::Type::kNumberSet: {
      json::Array array(out);
      for (const auto& member : value.as_number_set()) {
        array.element().push_back('"');
        member.append_to(out);
        out.push_back('"');
      }
      array.close();
      break;
    }
    case model::Type::kBinarySet: {
      json::Array array(out);
      for (const auto& member : value.as_binary_set()) {
        array.element().push_back('"');
        append_base64(out, member);
        out.push_back('"');
      }
      array.close();
      break;
    }
  }
  out.push_back('}');
}

void append_item(std::string& out, const model::Item& item) {
  json::Object object(out);
  for (const model::Attribute& attribute : item)
    append_value(object.key(attribute.name), attribute.value);
  object.close();
}

namespace {

void append_encoded_map(std::string& out, std::string_view& in);

void append_encoded_value(std::string& out, std::string_view& in) {
  if (in.empty()) throw CorruptRecord("record ends before a value");
  const auto type = static_cast<model::Type>(in.front() & 0x0F);
  switch (type) {
    case model::Type::kString:
      in.remove_prefix(1);
      out.append("{\"S\":");
      json::append_quoted(out, read_string(in));
      out.push_back('}');
      return;
    case model::Type::kMap:
      in.remove_prefix(1);
      out.append("{\"M\":");
      append_encoded_map(out, in);
      out.push_back('}');
      return;
    case model::Type::kList: {
      in.remove_prefix(1);
      out.append("{\"L\":[");
      const uint64_t count = read_varint(in);
      for (uint64_t i = 0; i < count; ++i) {
        if (i > 0) out.push_back(',');
        append_encoded_value(out, in);
      }
      out.append("]}");
      return;
    }
    case model::Type::kStringSet: {
      in.remove_prefix(1);
      out.append("{\"SS\":[");
      const uint64_t count = read_varint(in);
      for (uint64_t i = 0; i < count; ++i) {
        if (i > 0) out.push_back(',');
        json::append_quoted(out, read_string(in));
      }
      out.append("]}");
      return;
    }
    default:
      append_value(out, model::decode_value(in));
      return;
  }
}

void append_encoded_map(std::string& out, std::string_view& in) {
  json::Object object(out);
  const uint64_t count = read_varint(in);
  for (uint64_t i = 0; i < count; ++i) {
    const std::string_view name = read_string(in);
    append_encoded_value(object.key(name), in);
  }
  object.close();
}

}  // namespace

void append_encoded_item(std::string& out, std::string_view encoded) {
  append_encoded_map(out, encoded);
}

}  // namespace stator::ops
