// The stored form of an item. A record begins with a codec version, so that the form can change
// under live data.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "model/value.h"

namespace stator::model {

// Where the last write of an item came from.
enum class Origin : uint8_t { kClient = 0, kService = 1 };

struct RecordHeader {
  uint64_t size_bytes = 0;  // of the item by DynamoDB's rules
  int64_t written_us = 0;
  Origin origin = Origin::kClient;
  // An index entry that holds only keys: the rest is read from the item itself, in the same view.
  bool reference = false;
};

std::string encode_record(const Item& item, const RecordHeader& header);
// Reads the header and removes it from the front; what is left is the encoded item.
RecordHeader read_header(std::string_view& record);
// Throws CorruptRecord.
Item decode_item(std::string_view encoded);
Item decode_record(std::string_view record);
// The part of a record after its header.
std::string encode_item(const Item& item);

void encode_value(const Value& value, std::string& out);
Value decode_value(std::string_view& in);

}  // namespace stator::model
