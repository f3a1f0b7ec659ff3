#include "capacity/insights.h"

#include <mutex>

#include "model/codec.h"

namespace stator::capacity {

namespace {

// The given attributes of an item as an encoded map; empty if one is missing.
std::string encode_key(const std::vector<const std::vector<model::KeyAttribute>*>& parts,
                       const model::Item& item) {
  model::Item key;
  for (const auto* part : parts) {
    for (const model::KeyAttribute& attribute : *part) {
      const model::Value* value = item.find(attribute.name);
      if (value == nullptr) return {};
      key.set(attribute.name, *value);
    }
  }
  std::string encoded;
  model::encode_value(model::Value::map(std::move(key)), encoded);
  return encoded;
}

}  // namespace

void Insights::count(const catalog::Table& table, const model::Index* index,
                     const model::Item& item, bool throttled) {
  const model::IndexNumber number = index != nullptr && index->global ? index->number : 0;
  const auto settings = table.insights.find(number);
  if (settings == table.insights.end() || !settings->second.enabled) return;
  if (!throttled && settings->second.throttled_only) return;
  const model::KeySchema& schema = number != 0 ? index->key : table.schema->key;
  const std::string partition = encode_key({&schema.partition}, item);
  if (partition.empty()) return;
  const auto counts = find_or_make({table.schema->number, number}, settings->second.created_ms);
  (throttled ? counts->throttled_partitions : counts->accessed_partitions).add(partition);
  if (schema.sort.empty()) return;
  const std::string whole = encode_key({&schema.partition, &schema.sort}, item);
  if (!whole.empty()) (throttled ? counts->throttled_items : counts->accessed_items).add(whole);
}

std::shared_ptr<KeyCounts> Insights::find_or_make(const Key& key, int64_t since_ms) {
  {
    const std::shared_lock lock(mutex_);
    const auto at = counts_.find(key);
    if (at != counts_.end() && at->second->since_ms >= since_ms) return at->second;
  }
  const std::unique_lock lock(mutex_);
  auto at = counts_.find(key);
  if (at != counts_.end() && at->second->since_ms >= since_ms) return at->second;
  if (at == counts_.end() && counts_.size() >= kMostCounted) counts_.clear();
  auto fresh = std::make_shared<KeyCounts>();
  fresh->since_ms = since_ms;
  counts_[key] = fresh;
  return fresh;
}

std::shared_ptr<const KeyCounts> Insights::counts(const catalog::Table& table,
                                                  model::IndexNumber index) const {
  const std::shared_lock lock(mutex_);
  const auto at = counts_.find({table.schema->number, index});
  return at != counts_.end() ? at->second : nullptr;
}

void Insights::forget(const catalog::Table& table, model::IndexNumber index) {
  const std::unique_lock lock(mutex_);
  counts_.erase({table.schema->number, index});
}

}  // namespace stator::capacity
