// TableDescription: how every table operation shows a table.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/table.h"
#include "store/store.h"

namespace stator::ops {

// Seconds since 1970 with milliseconds, as the wire shows points in time.
void append_timestamp(std::string& out, int64_t time_ms);

void append_key_schema(std::string& out, const model::KeySchema& key);
void append_projection(std::string& out, const model::Index& index);

// The whole description as a JSON object. `state` is the one to show: an answer to CreateTable says
// CREATING even if the table is ready by the time it is sent. `sizes` as of Store::sizes; empty
// means all 0. `deleting` names an index that is shown once more although it is gone.
void append_table_description(std::string& out, const catalog::Table& table,
                              catalog::TableState state,
                              const std::vector<store::Store::Size>& sizes, int64_t now_ms,
                              std::string_view deleting = {});

// What DeleteTable answers: no keys, attributes or indexes any more.
void append_deleted_table_description(std::string& out, const catalog::Table& table,
                                      const std::vector<store::Store::Size>& sizes, int64_t now_ms);

}  // namespace stator::ops
