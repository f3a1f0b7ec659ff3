// Tables as records in the engine: a version byte and a JSON object. New members can be added
// without a new version as long as a record without them reads as a table that never had the
// feature.
#pragma once

#include <string>
#include <string_view>

#include "catalog/table.h"
#include "json/reader.h"

namespace stator::catalog {

std::string encode_table(const Table& table);
// Throws CorruptRecord.
Table decode_table(std::string_view record);

// A key as part of such a record.
void write_key(std::string& out, const model::KeySchema& key);
model::KeySchema read_key(const json::Element& element);

}  // namespace stator::catalog
