// Writes what a source has into a table of an endpoint.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "client/endpoint.h"
#include "moving/item_source.h"

namespace stator::moving {

// A data directory flushes once for all that wait, so more of them wait there.
inline constexpr size_t kEndpointWriters = 8;
inline constexpr size_t kDirectoryWriters = 32;

struct ImportOptions {
  std::string table;
  size_t writers = kEndpointWriters;  // requests under way
  std::filesystem::path state;        // see checkpoint.h
  std::string what;                   // names the work in it
  bool quiet = false;
  uint64_t errors_shown = 10;  // on standard error; the others are counted
};

struct ImportResult {
  uint64_t items = 0;          // of this run
  uint64_t resumed_items = 0;  // of the runs before it
  uint64_t failed = 0;         // items that the table refused
  double seconds = 0;
};

// Creates the table unless it is there. True if it did. `request` is a CreateTable request without
// the name; throws std::runtime_error if it is empty and the table is not there.
bool ensure_table(client::Endpoint& endpoint, const std::string& table, const std::string& request);

// Throws std::runtime_error if the source cannot be read or the endpoint does not answer: then the
// state is kept, and the same call goes on from there. An item that the table refuses is told of
// and passed over.
ImportResult import_items(Source& source, client::Endpoint& endpoint, const ImportOptions& options);

}  // namespace stator::moving
