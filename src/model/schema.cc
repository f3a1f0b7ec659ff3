#include "model/schema.h"

#include <algorithm>
#include <iterator>

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

std::string_view stream_view_name(StreamView view) {
  switch (view) {
    case StreamView::kKeysOnly:
      return "KEYS_ONLY";
    case StreamView::kNewImage:
      return "NEW_IMAGE";
    case StreamView::kOldImage:
      return "OLD_IMAGE";
    case StreamView::kNewAndOldImages:
      break;
  }
  return "NEW_AND_OLD_IMAGES";
}

std::optional<StreamView> stream_view_of(std::string_view name) {
  for (const StreamView view : {StreamView::kKeysOnly, StreamView::kNewImage, StreamView::kOldImage,
                                StreamView::kNewAndOldImages}) {
    if (stream_view_name(view) == name) return view;
  }
  return std::nullopt;
}

ShardNumber Capture::shard_of(uint64_t hash) const {
  const auto after =
      std::upper_bound(shards.begin(), shards.end(), hash,
                       [](uint64_t value, const Shard& shard) { return value < shard.first_hash; });
  return std::prev(after)->number;
}

}  // namespace stator::model
