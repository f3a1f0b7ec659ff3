// check_types: what the service's JSON reader (Java, with generated classes) says about a value of
// the wrong type.
#include <array>
#include <string>

#include "model/error.h"
#include "ops/shape.h"

namespace stator::ops {

namespace {

using json::Element;
using json::Kind;

// Where a value stands decides about the wording.
enum class Place { kField, kElement };

[[noreturn]] void bad_type(std::string text) {
  throw ApiError("SerializationException", std::move(text));
}

[[noreturn]] void unexpected_structure() {
  bad_type("Start of structure or map found where not expected");
}

std::string_view java_name(ShapeKind kind) {
  switch (kind) {
    case ShapeKind::kString:
      return "String";
    case ShapeKind::kBoolean:
      return "Boolean";
    case ShapeKind::kInteger:
      return "Integer";
    case ShapeKind::kLong:
      return "Long";
    case ShapeKind::kDouble:
      return "Double";
    case ShapeKind::kTimestamp:
      return "Date";
    default:
      return "Object";
  }
}

std::string java_class(const Shape& shape) {
  switch (shape.kind) {
    case ShapeKind::kStructure:
      return "com.amazonaws.dynamodb.v20120810." + std::string(shape.name);
    case ShapeKind::kList:
      return "java.util.List<" + java_class(*shape.element) + ">";
    case ShapeKind::kMap:
      return "java.util.Map<java.lang.String, " + java_class(*shape.element) + ">";
    case ShapeKind::kBlob:
      return "java.nio.ByteBuffer";
    case ShapeKind::kTimestamp:
      return "java.util.Date";
    default:
      return "java.lang." + std::string(java_name(shape.kind));
  }
}

[[noreturn]] void cannot_convert(std::string_view token, const Shape& shape) {
  bad_type(std::string(token) + " cannot be converted to " + std::string(java_name(shape.kind)));
}

[[noreturn]] void unrecognized_collection(const Shape& shape) {
  const bool generic = shape.kind == ShapeKind::kList || shape.kind == ShapeKind::kMap;
  bad_type("Unrecognized collection type " + std::string(generic ? "" : "class ") +
           java_class(shape));
}

constexpr std::array<int8_t, 256> make_base64_values() {
  std::array<int8_t, 256> values{};
  for (auto& value : values) value = -1;
  constexpr std::string_view kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (size_t i = 0; i < kAlphabet.size(); ++i)
    values[static_cast<unsigned char>(kAlphabet[i])] = static_cast<int8_t>(i);
  return values;
}
constexpr auto kBase64Values = make_base64_values();

void check_base64(std::string_view text) {
  if (text.size() % 4 != 0) {
    bad_type("Base64 encoded length is expected a multiple of 4 bytes but found: " +
             std::to_string(text.size()));
  }
  if (text.empty()) return;
  const size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  const std::string_view digits = text.substr(0, text.size() - padding);
  bool valid = true;
  for (const char c : digits) valid &= kBase64Values[static_cast<unsigned char>(c)] >= 0;
  // Bits of the last digit that belong to no byte must be 0.
  if (valid && padding > 0) {
    const int stray = padding == 1 ? 0x03 : 0x0F;
    valid = (kBase64Values[static_cast<unsigned char>(digits.back())] & stray) == 0;
  }
  if (!valid) bad_type("Invalid last non-pad Base64 character dectected");
}

void check_string(const Element& element, const Shape& shape) {
  switch (element.type()) {
    case Kind::STRING:
      return;
    case Kind::BOOL:
      cannot_convert(bool(element) ? "TRUE_VALUE" : "FALSE_VALUE", shape);
    case Kind::DOUBLE:
      cannot_convert("DECIMAL_VALUE", shape);
    case Kind::ARRAY:
      unrecognized_collection(shape);
    case Kind::OBJECT:
      unexpected_structure();
    default:
      cannot_convert("NUMBER_VALUE", shape);
  }
}

void check_boolean(const Element& element, const Shape& shape) {
  switch (element.type()) {
    case Kind::BOOL:
      return;
    case Kind::STRING:
      if (!json::to_bool(element)) bad_type("Unexpected token received from parser");
      return;
    case Kind::DOUBLE:
      cannot_convert("DECIMAL_VALUE", shape);
    case Kind::ARRAY:
      unrecognized_collection(shape);
    case Kind::OBJECT:
      unexpected_structure();
    default:
      cannot_convert("NUMBER_VALUE", shape);
  }
}

void check_number(const Element& element, const Shape& shape) {
  switch (element.type()) {
    case Kind::BOOL:
      cannot_convert(bool(element) ? "TRUE_VALUE" : "FALSE_VALUE", shape);
    case Kind::STRING:
      cannot_convert("STRING_VALUE", shape);
    case Kind::ARRAY:
      unrecognized_collection(shape);
    case Kind::OBJECT:
      unexpected_structure();
    default:
      return;
  }
}

void check_blob(const Element& element, const Shape& shape) {
  switch (element.type()) {
    case Kind::STRING:
      return check_base64(std::string_view(element));
    case Kind::ARRAY:
      unrecognized_collection(shape);
    case Kind::OBJECT:
      unexpected_structure();
    default:
      bad_type("only base-64-encoded strings are convertible to bytes");
  }
}

// A scalar where a list, a map or a structure belongs.
[[noreturn]] void unexpected_scalar(const Shape& shape, Place place) {
  if (place == Place::kField) bad_type("Unexpected field type");
  if (shape.kind == ShapeKind::kStructure) bad_type("Unexpected value type in payload");
  // The service's reader stumbles over a generic type inside a generic type.
  bad_type(
      "class sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl cannot be cast to class "
      "java.lang.Class "
      "(sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl and java.lang.Class are in "
      "module java.base of "
      "loader 'bootstrap')");
}

void check_value(const Element& element, const Shape& shape, Place place);

void check_list(const Element& element, const Shape& shape, Place place) {
  json::ArrayElement array;
  if (element.get(array) != simdjson::SUCCESS) {
    if (element.is_object()) unexpected_structure();
    unexpected_scalar(shape, place);
  }
  for (const Element item : array) check_value(item, *shape.element, Place::kElement);
}

void check_map(const Element& element, const Shape& shape, Place place) {
  json::ObjectElement object;
  if (element.get(object) != simdjson::SUCCESS) {
    if (element.is_array()) unrecognized_collection(shape);
    unexpected_scalar(shape, place);
  }
  for (const auto field : object) check_value(field.value, *shape.element, Place::kElement);
}

void check_structure(const Element& element, const Shape& shape, Place place) {
  json::ObjectElement object;
  if (element.get(object) != simdjson::SUCCESS) {
    if (element.is_array()) unrecognized_collection(shape);
    unexpected_scalar(shape, place);
  }
  for (const auto field : object) {
    for (const Member& member : shape.members) {
      if (member.name != field.key) continue;
      check_value(field.value, *member.shape, Place::kField);
      break;
    }
  }
}

void check_value(const Element& element, const Shape& shape, Place place) {
  if (element.is_null()) return;
  switch (shape.kind) {
    case ShapeKind::kString:
      return check_string(element, shape);
    case ShapeKind::kBlob:
      return check_blob(element, shape);
    case ShapeKind::kBoolean:
      return check_boolean(element, shape);
    case ShapeKind::kInteger:
    case ShapeKind::kLong:
    case ShapeKind::kDouble:
    case ShapeKind::kTimestamp:
      return check_number(element, shape);
    case ShapeKind::kList:
      return check_list(element, shape, place);
    case ShapeKind::kMap:
      return check_map(element, shape, place);
    case ShapeKind::kStructure:
      return check_structure(element, shape, place);
  }
}

}  // namespace

void check_types(const json::Element& request, const Shape& shape) {
  check_value(request, shape, Place::kField);
}

}  // namespace stator::ops
