// A stream as data: whose changes it has, and its shards with their lineage. Immutable like a
// Table; it outlives its table by a day.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/table.h"
#include "model/schema.h"

namespace stator::catalog {

// How long a record can be read.
inline constexpr int64_t kStreamRetentionMs = 24LL * 60 * 60 * 1000;
// How long a shard takes records before its child goes on.
inline constexpr int64_t kShardAgeMs = 4LL * 60 * 60 * 1000;

struct StreamId {
  model::TableNumber table = 0;
  model::StreamNumber number = 0;
  auto operator<=>(const StreamId&) const = default;
};

// A part of a stream: the changes of the partition keys with certain hashes, over some time.
struct Shard {
  model::ShardNumber number = 0;
  model::ShardNumber parent = 0;  // 0: none
  std::string id;
  uint64_t first_hash = 0;
  uint64_t last_hash = 0;  // inclusive
  int64_t opened_ms = 0;
  std::optional<int64_t> closed_ms;
  // Versions of the commits that opened and closed it: every record is between them. 0 for the
  // moment between such a commit and the next one, which notes it.
  uint64_t opened_version = 0;
  uint64_t closed_version = 0;
};

struct Stream {
  StreamId id;
  std::string table_name;
  std::string arn;
  std::string label;
  model::StreamView view = model::StreamView::kNewAndOldImages;
  bool hidden = false;
  model::KeySchema key;
  int64_t created_ms = 0;
  std::optional<int64_t> disabled_ms;
  int64_t asked_shards = 0;  // the option that its present shards follow
  model::ShardNumber last_shard_number = 0;
  std::vector<Shard> shards;  // in the order of their numbers, so parents before children

  const Shard* find_shard(std::string_view id) const;
  const Shard* find_shard(model::ShardNumber number) const;
  // When the last of it can be forgotten.
  bool is_over(int64_t now_ms) const {
    return disabled_ms && *disabled_ms + kStreamRetentionMs <= now_ms;
  }
};

using StreamPtr = std::shared_ptr<const Stream>;

// ISO 8601 with milliseconds.
std::string stream_label(int64_t time_ms);

// The ARN of a stream of that table and label.
std::string stream_arn(const Table& table, std::string_view label, bool hidden);
// A new stream of `table` with `shards` open shards.
Stream open_stream(const Table& table, model::StreamNumber number, model::StreamView view,
                   bool hidden, std::string label, int64_t shards, int64_t now_ms);
// Closes every open shard and opens its children: one each, or more where `shards` asks for more
// than are open. There are never fewer: a child has one parent, and a consumer who begins with a
// child after its parent must find all earlier changes of its keys done.
void roll_shards(Stream& stream, int64_t shards, int64_t now_ms);
void close_stream(Stream& stream, int64_t now_ms);

// What writers have to know of a stream that is open.
model::Capture capture_of(const Stream& stream);

std::string encode_stream(const Stream& stream);
Stream decode_stream(std::string_view record);  // throws CorruptRecord

// Where the records of a shard are kept: the version and the ordinal follow. The first row says
// that the shard was opened, the last that it was closed; those between are in
// store/stream_record.h.
inline constexpr std::string_view kShardOpened = "o";
inline constexpr std::string_view kShardClosed = "x";
std::string shard_prefix(StreamId stream, model::ShardNumber shard);
// Where the record of a stream is kept.
std::string stream_key(StreamId stream);

}  // namespace stator::catalog
