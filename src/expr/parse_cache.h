// Parsed expressions by their text. Applications send the same few expressions for ever; only the
// placeholders change. Thread-safe; a bounded number of entries, least recently used ones go first.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "expr/bindings.h"

namespace stator::expr {

struct ParsedCondition;
struct ParsedProjection;
struct ParsedUpdate;

class ParseCache {
 public:
  // `capacity` in entries; an entry takes at most about a hundred kilobytes, usually one. Zero:
  // nothing is kept.
  explicit ParseCache(size_t capacity = 4096);
  ~ParseCache();
  ParseCache(const ParseCache&) = delete;
  ParseCache& operator=(const ParseCache&) = delete;

  // Parse `text` or find it parsed. Throws ApiError as parse_... in parser.h does; failures are not
  // kept.
  std::shared_ptr<const ParsedCondition> condition(std::string_view text, ExpressionKind kind);
  std::shared_ptr<const ParsedProjection> projection(std::string_view text);
  std::shared_ptr<const ParsedUpdate> update(std::string_view text);

  size_t size() const;

 private:
  struct Shard;
  static constexpr size_t kShards = 16;
  template <typename Parsed, typename Parse>
  std::shared_ptr<const Parsed> find_or_parse(char family, std::string_view text, Parse parse);

  size_t shard_capacity_;
  std::unique_ptr<Shard[]> shards_;
};

}  // namespace stator::expr
