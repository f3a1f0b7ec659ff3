#include "expr/parse_cache.h"

#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

#include "expr/parser.h"

namespace stator::expr {

struct ParseCache::Shard {
  struct Entry {
    std::string key;
    std::shared_ptr<const void> parsed;
  };
  mutable std::mutex mutex;
  std::list<Entry> entries;  // most recently used first
  std::unordered_map<std::string_view, std::list<Entry>::iterator> positions;
};

ParseCache::ParseCache(size_t capacity)
    : shard_capacity_((capacity + kShards - 1) / kShards),
      shards_(std::make_unique<Shard[]>(kShards)) {}

ParseCache::~ParseCache() = default;

template <typename Parsed, typename Parse>
std::shared_ptr<const Parsed> ParseCache::find_or_parse(char family, std::string_view text,
                                                        Parse parse) {
  // What is empty or too long is refused without being looked up.
  if (shard_capacity_ == 0 || text.empty() || text.size() > kMaxExpressionBytes) {
    return std::make_shared<const Parsed>(parse());
  }
  std::string key;
  key.reserve(text.size() + 1);
  key += family;
  key += text;
  Shard& shard = shards_[std::hash<std::string_view>()(key) % kShards];
  {
    const std::lock_guard lock(shard.mutex);
    const auto found = shard.positions.find(key);
    if (found != shard.positions.end()) {
      shard.entries.splice(shard.entries.begin(), shard.entries, found->second);
      return std::static_pointer_cast<const Parsed>(found->second->parsed);
    }
  }
  auto parsed = std::make_shared<const Parsed>(parse());
  const std::lock_guard lock(shard.mutex);
  if (shard.positions.contains(key)) return parsed;  // another thread was faster
  shard.entries.push_front({std::move(key), parsed});
  shard.positions.emplace(shard.entries.front().key, shard.entries.begin());
  if (shard.entries.size() > shard_capacity_) {
    shard.positions.erase(shard.entries.back().key);
    shard.entries.pop_back();
  }
  return parsed;
}

std::shared_ptr<const ParsedCondition> ParseCache::condition(std::string_view text,
                                                             ExpressionKind kind) {
  // The kind is only in the messages of failures, which are not kept.
  return find_or_parse<ParsedCondition>('c', text, [&] { return parse_condition(text, kind); });
}

std::shared_ptr<const ParsedProjection> ParseCache::projection(std::string_view text) {
  return find_or_parse<ParsedProjection>('p', text, [&] { return parse_projection(text); });
}

std::shared_ptr<const ParsedUpdate> ParseCache::update(std::string_view text) {
  return find_or_parse<ParsedUpdate>('u', text, [&] { return parse_update(text); });
}

size_t ParseCache::size() const {
  size_t total = 0;
  for (size_t i = 0; i < kShards; ++i) {
    const std::lock_guard lock(shards_[i].mutex);
    total += shards_[i].entries.size();
  }
  return total;
}

}  // namespace stator::expr
