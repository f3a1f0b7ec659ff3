// Reading the records of a stream's shard.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "catalog/stream.h"
#include "engine/engine.h"
#include "store/stream_record.h"

namespace stator::store {

// A place in a shard: that of a record, or between two.
struct StreamPosition {
  uint64_t version = 0;
  uint32_t ordinal = 0;
  auto operator<=>(const StreamPosition&) const = default;
};

struct StreamPage {
  struct Entry {
    StreamPosition at;
    StreamRecord record;  // points into `rows`
  };
  std::vector<Entry> records;
  StreamPosition next;  // where to go on
  bool ended = false;   // the shard is closed and this was the last of it
  std::vector<engine::Rows> rows;
};

struct StreamLimit {
  size_t records = 1000;
  size_t bytes = 1024 * 1024;  // by the records' own sizes; one record always fits
};

// What is in the shard from `from` on. Reads everything that was committed before the call.
Task<StreamPage> read_stream(engine::Engine& engine, catalog::StreamId stream,
                             model::ShardNumber shard, StreamPosition from, StreamLimit limit);

}  // namespace stator::store
