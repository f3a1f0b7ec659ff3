// The records of streams: one for each change of an item, written with the change.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/engine.h"
#include "model/codec.h"
#include "model/schema.h"
#include "model/value.h"
#include "store/change.h"

namespace stator::store {

enum class StreamEvent : uint8_t { kInsert, kModify, kRemove };
std::string_view stream_event_name(StreamEvent event);  // "INSERT", ...

// One record, decoded. The images point into the stored row.
struct StreamRecord {
  StreamEvent event = StreamEvent::kInsert;
  model::Origin origin = model::Origin::kClient;
  int64_t written_us = 0;
  uint64_t size_bytes = 0;  // of keys and images together
  // Encoded items (model/codec.h). The keys are there only if no image is.
  std::optional<std::string_view> keys;
  std::optional<std::string_view> new_image;
  std::optional<std::string_view> old_image;
};

// Appends a record of the change to each of the table's streams; none if nothing changes. The old
// image must have its item.
void write_stream_records(const model::TableSchema& table, const std::optional<Image>& old,
                          const std::optional<Image>& fresh, const std::string& item_key,
                          int64_t now_us, model::Origin origin, engine::Batch& batch);

// Nothing if the row is no record but the beginning or the end of a shard. Throws CorruptRecord.
std::optional<StreamRecord> decode_stream_record(std::string_view row);

}  // namespace stator::store
