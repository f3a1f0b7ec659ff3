#include "model/schema.h"

#include <algorithm>

namespace stator::model {

Type value_type(KeyType type) {
  switch (type) {
    case KeyType::kString:
      return Type::kString;
    case KeyType::kNumber:
      return Type::kNumber;
    case KeyType::kBinary:
      return Type::kBinary;
  }
  return Type::kString;
}

std::string_view key_type_name(KeyType type) {
  return type_name(value_type(type));
}

std::optional<size_t> KeySchema::position(std::string_view name) const {
  for (size_t i = 0; i < size(); ++i) {
    if (at(i).name == name) return i;
  }
  return std::nullopt;
}

const KeyAttribute& KeySchema::at(size_t position) const {
  return position < partition.size() ? partition[position] : sort[position - partition.size()];
}

bool Index::projects(std::string_view attribute) const {
  return projects_all() || std::binary_search(projected.begin(), projected.end(), attribute);
}

const Index* TableSchema::find_index(std::string_view wanted) const {
  for (const Index& index : indexes) {
    if (index.name == wanted) return &index;
  }
  return nullptr;
}

bool TableSchema::is_building() const {
  return std::any_of(indexes.begin(), indexes.end(),
                     [](const Index& index) { return index.building; });
}

bool TableSchema::has_local_index() const {
  return !indexes.empty() && !indexes.front().global;
}

}  // namespace stator::model
