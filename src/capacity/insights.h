// Contributor insights: the most accessed and the most throttled keys of the tables and indexes
// that ask for them. Counts begin when insights are enabled and end with the process. A table
// without them costs one branch.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <shared_mutex>
#include <utility>

#include "capacity/key_counter.h"
#include "catalog/table.h"
#include "model/value.h"

namespace stator::capacity {

// What is counted for one table or index. Keys are encoded maps of the key attributes
// (model::encode_value).
struct KeyCounts {
  KeyCounter accessed_partitions;
  KeyCounter accessed_items;  // unused without a sort key
  KeyCounter throttled_partitions;
  KeyCounter throttled_items;
  int64_t since_ms = 0;  // `created_ms` of the settings it counts for
};

// Thread-safe.
class Insights {
 public:
  // At most so many tables and indexes are counted at a time; beyond it counting begins anew.
  static constexpr size_t kMostCounted = 1024;

  // An access by key. `item` has the key attributes of the table, or of the index if that was read;
  // what lacks them is not counted.
  void accessed(const catalog::Table& table, const model::Index* index, const model::Item& item) {
    if (!table.insights.empty()) [[unlikely]]
      count(table, index, item, false);
  }
  // The same for a request that was refused for want of capacity.
  void throttled(const catalog::Table& table, const model::Index* index, const model::Item& item) {
    if (!table.insights.empty()) [[unlikely]]
      count(table, index, item, true);
  }

  // What was counted since insights were enabled; null if nothing.
  std::shared_ptr<const KeyCounts> counts(const catalog::Table& table,
                                          model::IndexNumber index) const;
  void forget(const catalog::Table& table, model::IndexNumber index);

 private:
  using Key = std::pair<model::TableNumber, model::IndexNumber>;

  void count(const catalog::Table& table, const model::Index* index, const model::Item& item,
             bool throttled);
  std::shared_ptr<KeyCounts> find_or_make(const Key& key, int64_t since_ms);

  mutable std::shared_mutex mutex_;
  std::map<Key, std::shared_ptr<KeyCounts>> counts_;
};

}  // namespace stator::capacity
