// What a table is made of, as far as items are concerned: keys, indexes, projections. Immutable
// once built; requests share one by pointer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/value.h"

namespace stator::model {

using TableNumber = uint64_t;
using IndexNumber = uint32_t;
using StreamNumber = uint32_t;  // of one table; never given again
using ShardNumber = uint32_t;   // of one stream; never given again

enum class KeyType : uint8_t { kString, kNumber, kBinary };

// The attribute type of a key of that type.
Type value_type(KeyType type);
std::string_view key_type_name(KeyType type);  // "S", "N", "B"

struct KeyAttribute {
  std::string name;
  KeyType type = KeyType::kString;
};

// The key of a table (one partition attribute, at most one sort attribute) or of an index (up to
// four of each).
struct KeySchema {
  std::vector<KeyAttribute> partition;
  std::vector<KeyAttribute> sort;

  // Position among partition then sort attributes, or nullopt.
  std::optional<size_t> position(std::string_view name) const;
  const KeyAttribute& at(size_t position) const;
  size_t size() const { return partition.size() + sort.size(); }
};

enum class ProjectionType : uint8_t { kAll, kKeysOnly, kInclude };

struct Index {
  IndexNumber number = 0;
  std::string name;
  bool global = false;
  KeySchema key;
  ProjectionType projection = ProjectionType::kAll;
  std::vector<std::string> included;  // with kInclude: the non-key attributes, as given
  // Sorted names of everything an entry holds: table key, index key and included attributes. Empty
  // with kAll.
  std::vector<std::string> projected;
  // Its entries are still being made from the items of the table. Nobody reads it yet.
  bool building = false;

  bool projects_all() const { return projection == ProjectionType::kAll; }
  bool projects(std::string_view attribute) const;
};

// What a stream shows of a change.
enum class StreamView : uint8_t { kKeysOnly, kNewImage, kOldImage, kNewAndOldImages };
std::string_view stream_view_name(StreamView view);  // "KEYS_ONLY", ...
std::optional<StreamView> stream_view_of(std::string_view name);

// A stream that every change of the table's items is recorded in.
struct Capture {
  StreamNumber stream = 0;
  StreamView view = StreamView::kNewAndOldImages;
  bool hidden = false;  // not the table's own stream: it feeds a destination
  // Its open shards, in the order of the partition hashes they take: the first begins with 0, each
  // goes on to where the next one begins.
  struct Shard {
    ShardNumber number = 0;
    uint64_t first_hash = 0;
  };
  std::vector<Shard> shards;

  ShardNumber shard_of(uint64_t hash) const;
};

struct TableSchema {
  TableNumber number = 0;
  uint64_t version = 0;  // rises with every change of the schema
  std::string name;
  KeySchema key;
  std::vector<Index> indexes;  // local ones first, each kind in order of creation
  // The attribute that says when an item expires, in seconds; empty if items do not.
  std::string ttl_attribute;
  // The era of the history that writers keep of this table, from 1 on; 0 if they keep none. A new
  // one begins whenever history is kept again, so that no gap goes unnoticed.
  uint32_t history_era = 0;

  std::vector<Capture> captures;

  const Index* find_index(std::string_view name) const;
  bool has_local_index() const;
  // Whether any index is still being built.
  bool is_building() const;
};

}  // namespace stator::model
