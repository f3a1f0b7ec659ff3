#include "model/value.h"

#include <algorithm>

namespace stator::model {

std::string_view type_name(Type type) {
  switch (type) {
    case Type::kString:
      return "S";
    case Type::kNumber:
      return "N";
    case Type::kBinary:
      return "B";
    case Type::kBool:
      return "BOOL";
    case Type::kNull:
      return "NULL";
    case Type::kMap:
      return "M";
    case Type::kList:
      return "L";
    case Type::kStringSet:
      return "SS";
    case Type::kNumberSet:
      return "NS";
    case Type::kBinarySet:
      return "BS";
  }
  return "";
}

Map::Map() = default;
Map::Map(const Map&) = default;
Map::Map(Map&&) noexcept = default;
Map& Map::operator=(const Map&) = default;
Map& Map::operator=(Map&&) noexcept = default;
Map::~Map() = default;

size_t Map::size() const {
  return attributes_.size();
}
void Map::reserve(size_t count) {
  attributes_.reserve(count);
}
const Attribute* Map::begin() const {
  return attributes_.data();
}
const Attribute* Map::end() const {
  return attributes_.data() + attributes_.size();
}
Attribute* Map::begin() {
  return attributes_.data();
}
Attribute* Map::end() {
  return attributes_.data() + attributes_.size();
}
bool Map::operator==(const Map& other) const {
  return attributes_ == other.attributes_;
}

namespace {
template <typename Vector>
auto lower(Vector& attributes, std::string_view name) {
  return std::lower_bound(attributes.begin(), attributes.end(), name,
                          [](const Attribute& a, std::string_view n) { return a.name < n; });
}
}  // namespace

const Value* Map::find(std::string_view name) const {
  const auto at = lower(attributes_, name);
  return at != attributes_.end() && at->name == name ? &at->value : nullptr;
}

Value* Map::find(std::string_view name) {
  const auto at = lower(attributes_, name);
  return at != attributes_.end() && at->name == name ? &at->value : nullptr;
}

void Map::set(std::string_view name, Value value) {
  const auto at = lower(attributes_, name);
  if (at != attributes_.end() && at->name == name) {
    at->value = std::move(value);
    return;
  }
  attributes_.insert(at, Attribute{std::string(name), std::move(value)});
}

bool Map::erase(std::string_view name) {
  const auto at = lower(attributes_, name);
  if (at == attributes_.end() || at->name != name) return false;
  attributes_.erase(at);
  return true;
}

void Map::append_sorted(std::string name, Value value) {
  attributes_.push_back(Attribute{std::move(name), std::move(value)});
}

Value Value::string_set(std::vector<std::string> members) {
  std::sort(members.begin(), members.end());
  return Value(Data(StringSet{std::move(members)}));
}

Value Value::number_set(std::vector<Number> members) {
  std::sort(members.begin(), members.end());
  return Value(Data(NumberSet{std::move(members)}));
}

Value Value::binary_set(std::vector<std::string> members) {
  std::sort(members.begin(), members.end());
  return Value(Data(BinarySet{std::move(members)}));
}

Type Value::type() const {
  return static_cast<Type>(data_.index());
}

std::strong_ordering compare_scalars(const Value& a, const Value& b) {
  switch (a.type()) {
    case Type::kString:
      return a.as_string().compare(b.as_string()) <=> 0;
    case Type::kBinary:
      return a.as_binary().compare(b.as_binary()) <=> 0;
    case Type::kNumber:
      return a.as_number() <=> b.as_number();
    default:
      return std::strong_ordering::equal;
  }
}

size_t size_bytes(const Value& value) {
  switch (value.type()) {
    case Type::kString:
      return value.as_string().size();
    case Type::kNumber:
      return value.as_number().size_bytes();
    case Type::kBinary:
      return value.as_binary().size();
    case Type::kBool:
    case Type::kNull:
      return 1;
    case Type::kMap: {
      size_t total = 3;
      for (const Attribute& attribute : value.as_map()) {
        total += 1 + attribute.name.size() + size_bytes(attribute.value);
      }
      return total;
    }
    case Type::kList: {
      size_t total = 3;
      for (const Value& element : value.as_list()) total += 1 + size_bytes(element);
      return total;
    }
    case Type::kStringSet: {
      size_t total = 0;
      for (const auto& member : value.as_string_set()) total += member.size();
      return total;
    }
    case Type::kNumberSet: {
      size_t total = 0;
      for (const auto& member : value.as_number_set()) total += member.size_bytes();
      return total;
    }
    case Type::kBinarySet: {
      size_t total = 0;
      for (const auto& member : value.as_binary_set()) total += member.size();
      return total;
    }
  }
  return 0;
}

size_t size_bytes(const Item& item) {
  size_t total = 0;
  for (const Attribute& attribute : item)
    total += attribute.name.size() + size_bytes(attribute.value);
  return total;
}

}  // namespace stator::model
