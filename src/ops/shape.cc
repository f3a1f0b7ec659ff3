#include "ops/shape.h"

#include <algorithm>
#include <optional>

#include "model/error.h"

namespace stator::ops {

namespace {

using json::Element;

constexpr std::string_view kNamePattern = "[a-zA-Z0-9_.-]+";
constexpr std::string_view kNoDollarPattern = "^[^\\$]+$";
constexpr std::string_view kBucketPattern = "^[a-z0-9A-Z]+[\\.\\-\\w]*[a-z0-9A-Z]+$";
constexpr std::string_view kAccountPattern = "[0-9]{12}";
constexpr std::string_view kDelimiterPattern = "[,;:|\\t ]";
constexpr std::string_view kHeaderPattern = "[\\x20-\\x21\\x23-\\x2B\\x2D-\\x7E]*";
constexpr std::string_view kPageTokenPattern = "([0-9a-f]{16})+";
constexpr size_t kMaxNameLength = 255;
constexpr size_t kMaxArnLength = 1024;
// The service prints and enforces this for the keys of RequestItems, though a single TableName may
// be shorter.
constexpr size_t kMinMapNameLength = 3;

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '-';
}

bool is_letter_or_digit(char c) {
  return is_name_character(c) && c != '_' && c != '.' && c != '-';
}

template <typename Predicate>
bool all_of(std::string_view text, Predicate predicate) {
  return std::all_of(text.begin(), text.end(), predicate);
}

// The patterns of the model by hand: a regular expression library is no match for what clients may
// send.
bool matches(std::string_view text, std::string_view pattern) {
  if (pattern == kNamePattern)
    return !text.empty() && std::all_of(text.begin(), text.end(), is_name_character);
  if (pattern == kNoDollarPattern) return !text.empty() && text.find('$') == std::string_view::npos;
  if (pattern == kBucketPattern) {
    return text.size() >= 2 && is_letter_or_digit(text.front()) &&
           is_letter_or_digit(text.back()) && all_of(text, is_name_character);
  }
  if (pattern == kAccountPattern)
    return text.size() == 12 && all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  if (pattern == kDelimiterPattern)
    return text.size() == 1 && std::string_view(",;:|\t ").find(text[0]) != std::string_view::npos;
  if (pattern == kHeaderPattern)
    return all_of(text, [](char c) { return c >= 0x20 && c <= 0x7E && c != '"' && c != ','; });
  if (pattern == kPageTokenPattern) {
    return !text.empty() && text.size() % 16 == 0 &&
           all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
  }
  return true;  // patterns of operations that are not served
}

// Java counts UTF-16 units.
size_t java_length(std::string_view text) {
  size_t length = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    length += (byte & 0xC0) != 0x80;
    length += byte >= 0xF0;
  }
  return length;
}

bool is_arn(std::string_view text) {
  return text.starts_with("arn:");
}

// Bounds that the service enforces on a member of a certain structure and that are not in the
// model.
struct Bounds {
  int64_t min;
  int64_t max;
};
Bounds bounds_of(const Shape& owner, const Shape& shape) {
  if (shape.name == "KeySchema" &&
      (owner.name == "CreateTableInput" || owner.name == "LocalSecondaryIndex")) {
    return {1, 2};
  }
  return {shape.min, shape.max};
}

// The model no longer requires them (a replica's table takes them from its source), the service
// does for a new table.
bool is_required(const Shape& owner, const Member& member) {
  if (member.required) return true;
  return owner.name == "CreateTableInput" &&
         (member.name == "AttributeDefinitions" || member.name == "KeySchema");
}

// A path of the request as a chain of stack frames, printed only when something is wrong.
struct Path {
  const Path* parent = nullptr;
  std::string_view name = {};  // of a member, or a map's key
  size_t index = 0;            // of a list's element, from 1
  bool element = false;

  void append_to(std::string& out) const {
    if (parent != nullptr) {
      parent->append_to(out);
      out.push_back('.');
    }
    if (!element) {
      if (!name.empty())
        out.push_back(static_cast<char>(std::tolower(static_cast<unsigned char>(name[0]))));
      out.append(name.substr(std::min<size_t>(1, name.size())));
      return;
    }
    if (index > 0) {
      out.append(std::to_string(index));
    } else {
      out.append(name);
    }
    out.append(".member");
  }
};

std::string at_least(std::string_view what, int64_t bound) {
  return "Member must have " + std::string(what) + " greater than or equal to " +
         std::to_string(bound);
}
std::string at_most(std::string_view what, int64_t bound) {
  return "Member must have " + std::string(what) + " less than or equal to " +
         std::to_string(bound);
}
std::string pattern_text(std::string_view pattern) {
  return "Member must satisfy regular expression pattern: " + std::string(pattern);
}

std::vector<std::string> broken_name_constraints(std::string_view name, size_t min_length) {
  std::vector<std::string> broken;
  const size_t length = java_length(name);
  if (is_arn(name)) {
    if (length > kMaxArnLength) broken.push_back(at_most("length", kMaxArnLength));
    return broken;
  }
  // An empty name is only too short.
  if (!name.empty() && !matches(name, kNamePattern)) broken.push_back(pattern_text(kNamePattern));
  if (length < min_length) broken.push_back(at_least("length", static_cast<int64_t>(min_length)));
  if (length > kMaxNameLength) broken.push_back(at_most("length", kMaxNameLength));
  return broken;
}

class Checker {
 public:
  std::vector<Violation> take() { return std::move(found_); }

  void structure(const Element& element, const Shape& shape, const Path* parent,
                 std::span<const std::string_view> skip = {}) {
    json::ObjectElement object;
    if (element.get(object) != simdjson::SUCCESS) return;
    for (const Member& member : shape.members) {
      if (std::find(skip.begin(), skip.end(), member.name) != skip.end()) continue;
      const Path path{.parent = parent, .name = member.name};
      Element value;
      if (object.at_key(member.name).get(value) != simdjson::SUCCESS || value.is_null()) {
        if (is_required(shape, member)) add(path, "null", "Member must not be null");
        continue;
      }
      check(value, *member.shape, bounds_of(shape, *member.shape), path);
    }
  }

 private:
  bool full() const { return found_.size() >= kMaxViolations; }

  void add(const Path& path, std::string_view shown, std::string_view constraint) {
    if (full()) return;
    std::string where;
    path.append_to(where);
    std::string text = "Value ";
    text.append(shown)
        .append(" at '")
        .append(where)
        .append("' failed to satisfy constraint: ")
        .append(constraint);
    found_.push_back({std::move(where), std::move(text)});
  }

  void broken(const Element& element, const Shape& shape, const Path& path,
              std::string_view constraint) {
    if (!full()) add(path, "'" + echo(element, shape) + "'", constraint);
  }

  void check(const Element& element, const Shape& shape, Bounds bounds, const Path& path) {
    switch (shape.kind) {
      case ShapeKind::kString:
        return string(element, shape, bounds, path);
      case ShapeKind::kInteger:
      case ShapeKind::kLong:
        return number(element, shape, bounds, path);
      case ShapeKind::kList:
        return list(element, shape, bounds, path);
      case ShapeKind::kMap:
        return map(element, shape, bounds, path);
      case ShapeKind::kStructure:
        if (shape.name != "AttributeValue") structure(element, shape, &path);
        return;
      default:
        return;
    }
  }

  void string(const Element& element, const Shape& shape, Bounds bounds, const Path& path) {
    std::string_view text;
    if (element.get(text) != simdjson::SUCCESS) return;
    if (shape.name == "TableArn") {
      for (auto& violation : table_name_violations(text, 1)) {
        if (!full())
          add(path, "'" + std::string(text) + "'",
              violation.text.substr(violation.text.find("Member")));
      }
      return;
    }
    if (!shape.values.empty() &&
        std::find(shape.values.begin(), shape.values.end(), text) == shape.values.end()) {
      std::string set = "Member must satisfy enum value set: [";
      for (size_t i = 0; i < shape.values.size(); ++i) {
        if (i > 0) set.append(", ");
        set.append(shape.values[i]);
      }
      broken(element, shape, path, set + "]");
    }
    if (!shape.pattern.empty() && !matches(text, shape.pattern)) {
      broken(element, shape, path, pattern_text(shape.pattern));
    }
    if (bounds.min == kNoBound && bounds.max == kNoBound) return;
    length(element, shape, bounds, java_length(text), path);
  }

  void number(const Element& element, const Shape& shape, Bounds bounds, const Path& path) {
    const auto value = json::to_int(element);
    if (!value) return;
    if (bounds.min != kNoBound && *value < bounds.min)
      broken(element, shape, path, at_least("value", bounds.min));
    if (bounds.max != kNoBound && *value > bounds.max)
      broken(element, shape, path, at_most("value", bounds.max));
  }

  void length(const Element& element, const Shape& shape, Bounds bounds, size_t size,
              const Path& path) {
    const auto length = static_cast<int64_t>(size);
    if (bounds.min != kNoBound && length < bounds.min)
      broken(element, shape, path, at_least("length", bounds.min));
    if (bounds.max != kNoBound && length > bounds.max)
      broken(element, shape, path, at_most("length", bounds.max));
  }

  void list(const Element& element, const Shape& shape, Bounds bounds, const Path& path) {
    json::ArrayElement array;
    if (element.get(array) != simdjson::SUCCESS) return;
    if (bounds.min != kNoBound || bounds.max != kNoBound)
      length(element, shape, bounds, array.size(), path);
    if (!worth_a_look(*shape.element)) return;
    size_t index = 0;
    for (const Element item : array) {
      ++index;
      if (full()) return;
      const Path below{.parent = &path, .index = index, .element = true};
      if (item.is_null()) {
        add(below, "null", "Member must not be null");
        continue;
      }
      check(item, *shape.element, {shape.element->min, shape.element->max}, below);
    }
  }

  void map(const Element& element, const Shape& shape, Bounds bounds, const Path& path) {
    json::ObjectElement object;
    if (element.get(object) != simdjson::SUCCESS) return;
    if (bounds.min != kNoBound || bounds.max != kNoBound)
      length(element, shape, bounds, object.size(), path);
    if (shape.key != nullptr && shape.key->name == "TableArn")
      table_names(element, object, shape, path);
    if (!worth_a_look(*shape.element)) return;
    for (const auto field : object) {
      if (full()) return;
      const Path below{.parent = &path, .name = field.key, .element = true};
      if (field.value.is_null()) {
        add(below, "null", "Member must not be null");
        continue;
      }
      Bounds inner{shape.element->min, shape.element->max};
      // The length of a list as a map's value is told of in another form.
      if (shape.element->kind == ShapeKind::kList) {
        map_value(element, field.value, shape, path);
        inner = {kNoBound, kNoBound};
      }
      check(field.value, *shape.element, inner, below);
    }
  }

  void table_names(const Element& element, const json::ObjectElement& object, const Shape& shape,
                   const Path& path) {
    for (const auto field : object) {
      const std::string_view name = field.key;
      const bool valid = is_arn(name)
                             ? name.size() <= kMaxArnLength
                             : name.size() >= kMinMapNameLength && name.size() <= kMaxNameLength &&
                                   matches(name, kNamePattern);
      if (valid) continue;
      broken(element, shape, path,
             "Map keys must satisfy constraint: [" + at_most("length", kMaxNameLength) + ", " +
                 at_least("length", kMinMapNameLength) + ", " + pattern_text(kNamePattern) + "]");
    }
  }

  void map_value(const Element& element, const Element& value, const Shape& shape,
                 const Path& path) {
    json::ArrayElement array;
    const Shape& list = *shape.element;
    if (value.get(array) != simdjson::SUCCESS || (list.min == kNoBound && list.max == kNoBound))
      return;
    const auto size = static_cast<int64_t>(array.size());
    if ((list.min == kNoBound || size >= list.min) && (list.max == kNoBound || size <= list.max))
      return;
    broken(element, shape, path,
           "Map value must satisfy constraint: [" + at_most("length", list.max) + ", " +
               at_least("length", list.min) + "]");
  }

  // Values of attributes and names without bounds have nothing to check, and there can be many.
  static bool worth_a_look(const Shape& shape) {
    if (shape.kind == ShapeKind::kStructure) return shape.name != "AttributeValue";
    if (shape.kind == ShapeKind::kList || shape.kind == ShapeKind::kMap) {
      return shape.min != kNoBound || shape.max != kNoBound || worth_a_look(*shape.element);
    }
    return shape.min != kNoBound || shape.max != kNoBound || !shape.pattern.empty() ||
           !shape.values.empty();
  }

  std::vector<Violation> found_;
};

}  // namespace

std::vector<Violation> find_violations(const json::Element& request, const Shape& shape,
                                       std::span<const std::string_view> skip) {
  Checker checker;
  checker.structure(request, shape, nullptr, skip);
  return checker.take();
}

std::vector<Violation> table_name_violations(std::string_view name, size_t min_length) {
  std::vector<Violation> found;
  for (const auto& constraint : broken_name_constraints(name, min_length)) {
    found.push_back(
        {"tableName", "Value '" + std::string(name) +
                          "' at 'tableName' failed to satisfy constraint: " + constraint});
  }
  return found;
}

std::string join_violations(const std::vector<std::string>& texts) {
  std::string joined = std::to_string(texts.size()) + " validation error" +
                       (texts.size() == 1 ? "" : "s") + " detected: ";
  for (size_t i = 0; i < texts.size(); ++i) {
    if (i > 0) joined.append("; ");
    joined.append(texts[i]);
  }
  return joined;
}

void throw_violations(const std::vector<std::string>& texts) {
  invalid(join_violations(texts));
}

void throw_if_any(const std::vector<Violation>& violations) {
  if (violations.empty()) return;
  std::vector<std::string> texts;
  for (const Violation& violation : violations) texts.push_back(violation.text);
  throw_violations(texts);
}

}  // namespace stator::ops
