#include "json/reader.h"

#include "json/writer.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace stator::json {

namespace {

// A parser owns buffers as large as the largest text it has seen, so a few are kept for reuse and
// large ones let go.
constexpr size_t kKeptParsers = 8;
constexpr size_t kKeptCapacity = 256 * 1024;

std::vector<std::unique_ptr<simdjson::dom::parser>>& spare_parsers() {
  thread_local std::vector<std::unique_ptr<simdjson::dom::parser>> spare;
  return spare;
}

}  // namespace

Document::Document() {
  auto& spare = spare_parsers();
  if (spare.empty()) {
    parser_ = std::make_unique<simdjson::dom::parser>();
  } else {
    parser_ = std::move(spare.back());
    spare.pop_back();
  }
}

Document::~Document() {
  if (!parser_ || parser_->capacity() > kKeptCapacity) return;
  auto& spare = spare_parsers();
  if (spare.size() < kKeptParsers) spare.push_back(std::move(parser_));
}

Document::Document(Document&&) noexcept = default;
Document& Document::operator=(Document&&) noexcept = default;

bool Document::parse(std::string text) {
  text_ = std::move(text);
  const size_t size = text_.size();
  text_.reserve(size + simdjson::SIMDJSON_PADDING);
  return parser_->parse(text_.data(), size, false).get(root_) == simdjson::SUCCESS;
}

namespace {

void append_canonical(std::string& out, const Element& element) {
  ObjectElement object;
  ArrayElement array;
  if (element.get(object) == simdjson::SUCCESS) {
    std::vector<std::pair<std::string_view, Element>> members;
    for (const auto field : object) members.emplace_back(field.key, field.value);
    std::stable_sort(members.begin(), members.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    Object written(out);
    for (const auto& [name, value] : members) append_canonical(written.key(name), value);
    written.close();
  } else if (element.get(array) == simdjson::SUCCESS) {
    Array written(out);
    for (const Element child : array) append_canonical(written.element(), child);
    written.close();
  } else {
    out.append(simdjson::minify(element));
  }
}

}  // namespace

std::string canonical(const Element& element) {
  std::string out;
  append_canonical(out, element);
  return out;
}

std::optional<Element> member(const Element& element, std::string_view name) {
  ObjectElement object;
  if (element.get(object) != simdjson::SUCCESS) return std::nullopt;
  Element found;
  if (object.at_key(name).get(found) != simdjson::SUCCESS || found.is_null()) return std::nullopt;
  return found;
}

std::optional<std::string_view> string_member(const Element& element, std::string_view name) {
  const auto found = member(element, name);
  std::string_view text;
  if (!found || found->get(text) != simdjson::SUCCESS) return std::nullopt;
  return text;
}

std::optional<int64_t> int_member(const Element& element, std::string_view name) {
  const auto found = member(element, name);
  return found ? to_int(*found) : std::nullopt;
}

std::optional<bool> bool_member(const Element& element, std::string_view name) {
  const auto found = member(element, name);
  return found ? to_bool(*found) : std::nullopt;
}

std::optional<ArrayElement> array_member(const Element& element, std::string_view name) {
  const auto found = member(element, name);
  ArrayElement array;
  if (!found || found->get(array) != simdjson::SUCCESS) return std::nullopt;
  return array;
}

std::optional<ObjectElement> object_member(const Element& element, std::string_view name) {
  const auto found = member(element, name);
  ObjectElement object;
  if (!found || found->get(object) != simdjson::SUCCESS) return std::nullopt;
  return object;
}

std::optional<int64_t> to_int(const Element& element) {
  switch (element.type()) {
    case Kind::INT64:
      return int64_t(element);
    case Kind::UINT64:
      return INT64_MAX;
    case Kind::DOUBLE: {
      const double value = double(element);
      if (value >= 9.2e18) return INT64_MAX;
      if (value <= -9.2e18) return INT64_MIN;
      return static_cast<int64_t>(value);
    }
    default:
      return std::nullopt;
  }
}

std::optional<bool> to_bool(const Element& element) {
  bool truth = false;
  if (element.get(truth) == simdjson::SUCCESS) return truth;
  std::string_view text;
  if (element.get(text) != simdjson::SUCCESS) return std::nullopt;
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  if (lower == "true" || lower == "1" || lower == "yes") return true;
  if (lower == "false" || lower == "0" || lower == "no") return false;
  return std::nullopt;
}

}  // namespace stator::json
