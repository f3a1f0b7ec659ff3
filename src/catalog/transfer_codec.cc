#include "catalog/transfer_codec.h"

#include "common/bytes.h"

namespace stator::catalog {

namespace {

// A record begins with its version; then come its fields in order. A later version only adds
// fields.
constexpr uint8_t kVersion = 1;

void put(std::string& out, const std::string& text) {
  append_string(out, text);
}
void put(std::string& out, uint64_t number) {
  append_varint(out, number);
}
void put(std::string& out, int64_t number) {
  append_big_endian(out, number);
}
void put(std::string& out, bool truth) {
  out.push_back(truth ? 1 : 0);
}
void put(std::string& out, const std::vector<std::string>& list) {
  append_varint(out, list.size());
  for (const std::string& text : list) append_string(out, text);
}

void get(std::string_view& in, std::string& text) {
  text = read_string(in);
}
void get(std::string_view& in, uint64_t& number) {
  number = read_varint(in);
}
void get(std::string_view& in, uint32_t& number) {
  number = static_cast<uint32_t>(read_varint(in));
}
void get(std::string_view& in, int64_t& number) {
  number = read_big_endian<int64_t>(in);
}
void get(std::string_view& in, bool& truth) {
  truth = read_bytes(in, 1)[0] != 0;
}
void get(std::string_view& in, std::vector<std::string>& list) {
  const uint64_t count = read_varint(in);
  if (count > in.size()) throw CorruptRecord("transfer record: list ends early");
  list.clear();
  for (uint64_t i = 0; i < count; ++i) list.emplace_back(read_string(in));
}

std::string begin() {
  return std::string(1, static_cast<char>(kVersion));
}
void check_version(std::string_view& in) {
  if (in.empty() || static_cast<uint8_t>(in.front()) != kVersion) {
    throw CorruptRecord("transfer record: unknown version");
  }
  in.remove_prefix(1);
}

void put_common(std::string& out, const Transfer& transfer) {
  put(out, transfer.id);
  put(out, transfer.arn);
  put(out, transfer.table_name);
  put(out, transfer.table_arn);
  put(out, transfer.table_id);
  put(out, transfer.client_token);
  put(out, transfer.fingerprint);
  put(out, static_cast<uint64_t>(transfer.status));
  put(out, transfer.start_ms);
  put(out, transfer.end_ms.value_or(-1));
  put(out, transfer.bucket);
  put(out, transfer.bucket_owner);
  put(out, transfer.prefix);
  put(out, transfer.has_prefix);
  put(out, transfer.failure_code);
  put(out, transfer.failure_message);
}

void get_common(std::string_view& in, Transfer& transfer) {
  get(in, transfer.id);
  get(in, transfer.arn);
  get(in, transfer.table_name);
  get(in, transfer.table_arn);
  get(in, transfer.table_id);
  get(in, transfer.client_token);
  get(in, transfer.fingerprint);
  uint64_t status = 0;
  get(in, status);
  if (status > static_cast<uint64_t>(TransferStatus::kFailed)) {
    throw CorruptRecord("transfer record: unknown status");
  }
  transfer.status = static_cast<TransferStatus>(status);
  get(in, transfer.start_ms);
  int64_t end_ms = 0;
  get(in, end_ms);
  if (end_ms >= 0) transfer.end_ms = end_ms;
  get(in, transfer.bucket);
  get(in, transfer.bucket_owner);
  get(in, transfer.prefix);
  get(in, transfer.has_prefix);
  get(in, transfer.failure_code);
  get(in, transfer.failure_message);
}

}  // namespace

std::string encode_export(const Export& exported) {
  std::string out = begin();
  put_common(out, exported);
  put(out, exported.is_incremental);
  put(out, exported.type_named);
  put(out, exported.sse_algorithm);
  put(out, exported.sse_key);
  put(out, exported.export_time_ms);
  put(out, exported.from_ms);
  put(out, exported.to_ms);
  put(out, exported.has_old_images);
  put(out, uint64_t{exported.table});
  put(out, exported.key_names);
  put(out, uint64_t{exported.era});
  put(out, uint64_t{exported.first_day});
  put(out, exported.cut);
  put(out, exported.end_cut);
  put(out, exported.manifest_key);
  put(out, exported.item_count);
  put(out, exported.billed_bytes);
  return out;
}

Export decode_export(std::string_view in) {
  check_version(in);
  Export exported;
  get_common(in, exported);
  get(in, exported.is_incremental);
  get(in, exported.type_named);
  get(in, exported.sse_algorithm);
  get(in, exported.sse_key);
  get(in, exported.export_time_ms);
  get(in, exported.from_ms);
  get(in, exported.to_ms);
  get(in, exported.has_old_images);
  get(in, exported.table);
  get(in, exported.key_names);
  get(in, exported.era);
  get(in, exported.first_day);
  get(in, exported.cut);
  get(in, exported.end_cut);
  get(in, exported.manifest_key);
  get(in, exported.item_count);
  get(in, exported.billed_bytes);
  return exported;
}

std::string encode_import(const Import& imported) {
  std::string out = begin();
  put_common(out, imported);
  put(out, imported.format);
  put(out, imported.compression);
  put(out, imported.format_options);
  put(out, imported.creation);
  put(out, imported.delimiter);
  put(out, imported.header);
  put(out, imported.table_record);
  return out;
}

Import decode_import(std::string_view in) {
  check_version(in);
  Import imported;
  get_common(in, imported);
  get(in, imported.format);
  get(in, imported.compression);
  get(in, imported.format_options);
  get(in, imported.creation);
  get(in, imported.delimiter);
  get(in, imported.header);
  get(in, imported.table_record);
  return imported;
}

std::string encode_file(const ExportedFile& file) {
  std::string out = begin();
  put(out, file.key);
  put(out, file.item_count);
  put(out, file.md5);
  put(out, file.etag);
  return out;
}

ExportedFile decode_file(std::string_view in) {
  check_version(in);
  ExportedFile file;
  get(in, file.key);
  get(in, file.item_count);
  get(in, file.md5);
  get(in, file.etag);
  return file;
}

std::string encode_progress(const ExportProgress& progress) {
  std::string out = begin();
  put(out, progress.from);
  put(out, progress.is_read);
  put(out, uint64_t{progress.files});
  put(out, progress.item_count);
  put(out, progress.size_bytes);
  return out;
}

ExportProgress decode_export_progress(std::string_view in) {
  check_version(in);
  ExportProgress progress;
  get(in, progress.from);
  get(in, progress.is_read);
  get(in, progress.files);
  get(in, progress.item_count);
  get(in, progress.size_bytes);
  return progress;
}

std::string encode_progress(const ImportProgress& progress) {
  std::string out = begin();
  put(out, progress.has_table);
  put(out, progress.done_key);
  put(out, progress.records);
  put(out, progress.processed_items);
  put(out, progress.imported_items);
  put(out, progress.errors);
  put(out, progress.processed_bytes);
  put(out, progress.log_bytes);
  return out;
}

ImportProgress decode_import_progress(std::string_view in) {
  check_version(in);
  ImportProgress progress;
  get(in, progress.has_table);
  get(in, progress.done_key);
  get(in, progress.records);
  get(in, progress.processed_items);
  get(in, progress.imported_items);
  get(in, progress.errors);
  get(in, progress.processed_bytes);
  get(in, progress.log_bytes);
  return progress;
}

}  // namespace stator::catalog
