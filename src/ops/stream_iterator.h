// Sequence numbers and shard iterators: places in a shard as clients hold them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "catalog/stream.h"
#include "store/stream_reader.h"

namespace stator::ops {

// Digits only, of one length, so that numbers and texts have one order.
std::string sequence_number(store::StreamPosition at);
std::optional<store::StreamPosition> parse_sequence_number(std::string_view text);

struct ShardIterator {
  catalog::StreamId stream;
  model::ShardNumber shard = 0;
  store::StreamPosition at;
  int64_t issued_ms = 0;
};

// `<stream ARN>|1|<opaque>`.
std::string shard_iterator_text(std::string_view stream_arn, const ShardIterator& iterator);
// Nothing if this server never wrote such a text.
std::optional<ShardIterator> parse_shard_iterator(std::string_view text);

}  // namespace stator::ops
