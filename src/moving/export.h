// Writes a table to files: in the layout of an export to S3, or as CSV.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "client/endpoint.h"

namespace stator::moving {

struct ExportOptions {
  std::string table;
  std::filesystem::path to;  // a folder; it is made
  bool is_csv = false;
  size_t segments = 4;
  // A data file ends when it has so much plain text: what an interruption makes one read again.
  uint64_t file_bytes = uint64_t{64} * 1024 * 1024;
  std::filesystem::path state;  // see checkpoint.h
  std::string what;             // names the work in it
  bool quiet = false;
};

struct ExportResult {
  uint64_t items = 0;
  double seconds = 0;
  std::string folder;  // where the manifests are, or the CSV file
};

// Throws std::runtime_error: then the state is kept, and the same call goes on from there.
ExportResult export_table(client::Endpoint& endpoint, const ExportOptions& options);

}  // namespace stator::moving
