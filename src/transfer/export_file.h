// Writing what is exported: AWS's folder layout, data files and manifests.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/transfers.h"
#include "objects/object_store.h"

namespace stator::transfer {

// Keys of an export's objects:
//   <prefix>/AWSDynamoDB/<id>/_started              is there once the bucket was found to be
//   writable <prefix>/AWSDynamoDB/<id>/manifest-files.json   and .md5: the data files, a line for
//   each <prefix>/AWSDynamoDB/<id>/manifest-summary.json and .md5: the export; its presence says
//   that all is there <prefix>/AWSDynamoDB/<id>/data/<random>.json.gz of a full export
//   <prefix>/AWSDynamoDB/data/<random>.json.gz      of an incremental one
std::string export_folder(const catalog::Export& exported);
std::string data_file_key(const catalog::Export& exported, std::string_view random_name);
// Twenty-six characters of a-z2-7.
std::string random_file_name(RandomIds& ids);

// A data file being written: gzip of JSON lines.
class ExportFile {
 public:
  // Throws what the store throws; so do all methods.
  ExportFile(objects::ObjectStore& store, const std::string& bucket, std::string key,
             const objects::Terms& terms = {});
  ~ExportFile();
  ExportFile(const ExportFile&) = delete;
  ExportFile& operator=(const ExportFile&) = delete;

  // A line of an item, without its end.
  void add(std::string_view line);
  uint64_t plain_bytes() const { return plain_bytes_; }
  int64_t item_count() const { return item_count_; }
  // Call it once, last.
  catalog::ExportedFile finish();

 private:
  class Deflater;
  const std::string key_;
  std::unique_ptr<Deflater> deflater_;
  uint64_t plain_bytes_ = 0;
  int64_t item_count_ = 0;
};

// {"Item":{...}} of a stored record. `out` is overwritten. Returns the item's size by DynamoDB's
// rules.
size_t item_line(std::string_view record, std::string& out);
// What became of an item within a period: stored records, if there was an item before it and after
// it.
struct ChangedItem {
  const std::optional<std::string>& before;
  const std::optional<std::string>& after;
  int64_t written_us = 0;
};
// {"Metadata":...,"Keys":...,"NewImage":...,"OldImage":...}; nothing if there is nothing to tell:
// what came and went within the period. Returns the sizes of the images.
std::optional<size_t> change_line(const ChangedItem& change,
                                  const std::vector<std::string>& key_names, bool with_old,
                                  std::string& out);

// A line of manifest-files.json, with its end.
void append_file_line(std::string& out, const catalog::ExportedFile& file);
// manifest-summary.json of an export that has come to its end.
std::string summary_manifest(const catalog::Export& exported, const std::string& files_key);

std::string md5_base64(std::string_view bytes);
// "2020-11-04T07:28:34.028Z"
std::string iso_time(int64_t time_ms);

}  // namespace stator::transfer
