#include "store/stream_reader.h"

#include <algorithm>

#include "common/bytes.h"

namespace stator::store {

namespace {

constexpr int kMaxViews = 64;  // of a read whose view expires
constexpr size_t kChunkBytes = 1024 * 1024;

std::string row_key(const std::string& prefix, StreamPosition at) {
  std::string key = prefix;
  append_big_endian(key, at.version);
  append_big_endian(key, at.ordinal);
  return key;
}

StreamPosition position_in(std::string_view key, size_t prefix_size) {
  key.remove_prefix(prefix_size);
  StreamPosition at;
  at.version = read_big_endian<uint64_t>(key);
  at.ordinal = read_big_endian<uint32_t>(key);
  return at;
}

}  // namespace

Task<StreamPage> read_stream(engine::Engine& engine, catalog::StreamId stream,
                             model::ShardNumber shard, StreamPosition from, StreamLimit limit) {
  const std::string prefix = catalog::shard_prefix(stream, shard);
  StreamPage page;
  page.next = from;
  size_t bytes = 0;
  int views = 0;
  for (;;) {
    // Versions are given in the order of commits: what the view does not show comes after this one.
    const uint64_t committed = engine.committed_version();
    engine::Rows rows;
    bool expired = false;
    try {
      const auto view = engine.view();
      engine::Range range{row_key(prefix, page.next), prefix_end(prefix)};
      const engine::ScanLimit chunk{.rows = limit.records - page.records.size() + 1,
                                    .bytes = kChunkBytes};
      auto scanning = view->scan(std::move(range), engine::Direction::kForward, chunk);
      rows = co_await scanning;
    } catch (const engine::ViewExpired&) {
      if (++views > kMaxViews) throw;
      expired = true;
    }
    if (expired) continue;
    page.rows.push_back(std::move(rows));
    const engine::Rows& kept = page.rows.back();
    for (size_t i = 0; i < kept.size(); ++i) {
      const StreamPosition at = position_in(kept.key(i), prefix.size());
      const auto record = decode_stream_record(kept.value(i));
      if (record) {
        const bool full = page.records.size() >= limit.records ||
                          (!page.records.empty() && bytes + record->size_bytes > limit.bytes);
        if (full) co_return page;
        bytes += record->size_bytes;
        page.records.push_back({at, *record});
      } else if (kept.value(i) == catalog::kShardClosed) {
        page.ended = true;
        co_return page;
      }
      page.next = {at.version, at.ordinal + 1};
    }
    if (kept.empty() || !kept.more()) {
      page.next = std::max(page.next, StreamPosition{committed + 1, 0});
      co_return page;
    }
  }
}

}  // namespace stator::store
