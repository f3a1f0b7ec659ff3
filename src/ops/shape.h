// The shape layer: what the API model says about a request's members, and the checks that follow
// from it alone. Types first (a SerializationException ends the request at once), then constraints
// (all violations in one message).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "json/reader.h"

namespace stator::ops {

enum class ShapeKind : uint8_t {
  kString,
  kBlob,
  kBoolean,
  kInteger,
  kLong,
  kDouble,
  kTimestamp,
  kList,
  kMap,
  kStructure,
};

struct Shape;

struct Member {
  std::string_view name;
  const Shape* shape;
  bool required;
};

inline constexpr int64_t kNoBound = INT64_MIN;

struct Shape {
  ShapeKind kind;
  std::string_view name;
  std::span<const Member> members = {};
  const Shape* element = nullptr;  // of a list, or the values of a map
  const Shape* key = nullptr;
  int64_t min = kNoBound;  // length of strings, lists and maps; value of numbers
  int64_t max = kNoBound;
  std::string_view pattern = {};
  std::span<const std::string_view> values = {};
};

struct OperationShape {
  std::string_view operation;
  const Shape* input;
};

std::span<const OperationShape> data_operation_shapes();
std::span<const OperationShape> streams_operation_shapes();
std::span<const OperationShape> scaling_operation_shapes();

// Throws a SerializationException if a member has a JSON type that its shape cannot be read from.
// Members that are null count as absent and unknown ones are ignored. Recurses no deeper than the
// JSON reader lets a text nest.
void check_types(const json::Element& request, const Shape& shape);

// One broken constraint: `path` as the service prints it
// ("attributeDefinitions.1.member.attributeType") and the whole sentence about it.
struct Violation {
  std::string path;
  std::string text;
};

// At most this many violations are looked for.
inline constexpr size_t kMaxViolations = 10;

// The broken constraints of the request, in the service's order. `skip` names top-level members
// that the operation checks itself. Allocates nothing if there are none. Attribute values are not
// looked into: reading them checks them.
std::vector<Violation> find_violations(const json::Element& request, const Shape& shape,
                                       std::span<const std::string_view> skip = {});

// What is wrong with `name` as a TableName: a plain name of `min_length` to 255 characters, or an
// ARN.
std::vector<Violation> table_name_violations(std::string_view name, size_t min_length);

// "1 validation error detected: a" or "2 validation errors detected: a; b".
std::string join_violations(const std::vector<std::string>& texts);
[[noreturn]] void throw_violations(const std::vector<std::string>& texts);
// Throws them joined, if there are any.
void throw_if_any(const std::vector<Violation>& violations);

// An element as the service's messages echo it: "abc", "[a, b]",
// "KeySchemaElement(attributeName=pk, keyType=HASH)". Cut off after about a megabyte.
std::string echo(const json::Element& element, const Shape& shape);

}  // namespace stator::ops
