#include "catalog/record_check.h"

#include <string>

#include "catalog/backups.h"
#include "catalog/scaling.h"
#include "catalog/stream.h"
#include "catalog/table_codec.h"
#include "catalog/transfer_codec.h"
#include "common/bytes.h"

namespace stator::catalog {

namespace {

void expect_size(std::string_view bytes, size_t size) {
  if (bytes.size() != size) throw CorruptRecord("record of another length than its kind has");
}

// What an export or an import has done so far does not say which of the two it is about.
void check_progress(std::string_view value) {
  try {
    decode_export_progress(value);
  } catch (const CorruptRecord&) {
    decode_import_progress(value);
  }
}

}  // namespace

void check_record(std::string_view key, std::string_view value) {
  const std::string_view kind = key.substr(0, 2);
  const std::string_view kind_of_transfer = key.substr(0, 3);
  if (kind == "mv") return expect_size(value, 1);
  if (kind == "ma") return expect_size(value, sizeof(model::TableNumber));
  if (kind == "mn") return void(decode_table(value));
  if (kind == "mg") {
    expect_size(key, 2 + sizeof(model::TableNumber));
    return expect_size(value, sizeof(uint64_t));
  }
  if (kind == "md") {
    expect_size(key, 2 + sizeof(model::TableNumber));
    if (value.size() < sizeof(int64_t)) throw CorruptRecord("record ends inside an integer");
    return;
  }
  if (kind == "mb") return void(decode_backup(value));
  if (kind == "mr") {
    const Stream stream = decode_stream(value);
    if (stream_key(stream.id) != key) throw CorruptRecord("stream record under another's key");
    return;
  }
  if (kind == "ms") return check_scaling_record(key, value);
  if (kind == "mk") return;  // notes of others
  if (kind_of_transfer == "mxe") return void(decode_export(value));
  if (kind_of_transfer == "mxi") return void(decode_import(value));
  if (kind_of_transfer == "mxf") return void(decode_file(value));
  if (kind_of_transfer == "mxp") return check_progress(value);
  throw CorruptRecord("record of a kind that there is not");
}

}  // namespace stator::catalog
