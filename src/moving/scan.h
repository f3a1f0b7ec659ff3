// Reading a table of an endpoint, in segments at the same time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "client/endpoint.h"
#include "moving/item_source.h"

namespace stator::moving {

struct ScannedTable {
  std::string arn;
  std::string id;
  int64_t item_count = 0;
  int64_t size_bytes = 0;
  std::vector<std::string> key_names;
  std::string create_request;  // see TableDefinition
};
// Throws client::ServiceError if there is no such table.
ScannedTable describe_table(client::Endpoint& endpoint, const std::string& table);

// Its pages are read whole, however many changes are asked for. `endpoint` outlives it.
std::unique_ptr<PartReader> open_segment(client::Endpoint& endpoint, std::string table,
                                         size_t segment, size_t segments, std::string position);

}  // namespace stator::moving
