#include "transfer/export_file.h"

#include <fmt/chrono.h>
#include <openssl/evp.h>
#include <zlib.h>

#include <array>
#include <ctime>
#include <stdexcept>

#include "common/base64.h"
#include "common/md5.h"
#include "json/writer.h"
#include "model/codec.h"
#include "ops/value_json.h"

namespace stator::transfer {

namespace {

constexpr int kGzipWindow = 15 + 16;
constexpr int kLevel = 4;
constexpr size_t kStep = 256 * 1024;

std::string base64(std::string_view bytes) {
  std::string out;
  append_base64(out, bytes);
  return out;
}

std::string root_of(const catalog::Export& exported) {
  std::string root = exported.prefix;
  if (!root.empty() && !root.ends_with('/')) root.push_back('/');
  return root + "AWSDynamoDB/";
}

void append_images(json::Object& line, const ChangedItem& change, bool with_old) {
  std::string_view after = change.after ? std::string_view(*change.after) : std::string_view();
  if (change.after) {
    model::read_header(after);
    ops::append_encoded_item(line.key("NewImage"), after);
  }
  if (!with_old || !change.before) return;
  std::string_view before = *change.before;
  model::read_header(before);
  ops::append_encoded_item(line.key("OldImage"), before);
}

}  // namespace

std::string export_folder(const catalog::Export& exported) {
  return root_of(exported) + exported.id + "/";
}

std::string data_file_key(const catalog::Export& exported, std::string_view random_name) {
  const std::string folder = exported.is_incremental ? root_of(exported) : export_folder(exported);
  return folder + "data/" + std::string(random_name) + ".json.gz";
}

std::string random_file_name(RandomIds& ids) {
  constexpr char kAlphabet[] = "abcdefghijklmnopqrstuvwxyz234567";
  std::string name;
  while (name.size() < 26) {
    uint64_t bits = ids.number();
    for (int i = 0; i < 12 && name.size() < 26; ++i, bits >>= 5)
      name.push_back(kAlphabet[bits & 31]);
  }
  return name;
}

class ExportFile::Deflater {
 public:
  Deflater(objects::ObjectStore& store, const std::string& bucket, const std::string& key,
           const objects::Terms& terms)
      : upload_(store.upload(bucket, key, terms)), digest_(EVP_MD_CTX_new(), &EVP_MD_CTX_free) {
    if (deflateInit2(&stream_, kLevel, Z_DEFLATED, kGzipWindow, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
      throw std::bad_alloc();
    }
    EVP_DigestInit_ex(digest_.get(), EVP_md5(), nullptr);
    buffer_.resize(kStep);
  }
  ~Deflater() { deflateEnd(&stream_); }

  void write(std::string_view bytes, int flush) {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream_.avail_in = static_cast<uInt>(bytes.size());
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(buffer_.data());
      stream_.avail_out = static_cast<uInt>(buffer_.size());
      if (deflate(&stream_, flush) == Z_STREAM_ERROR) {
        throw std::runtime_error("deflate did not go on");
      }
      const std::string_view made(buffer_.data(), buffer_.size() - stream_.avail_out);
      if (made.empty()) continue;
      EVP_DigestUpdate(digest_.get(), made.data(), made.size());
      upload_->write(made);
    } while (stream_.avail_out == 0);
  }

  void finish(catalog::ExportedFile& file) {
    write({}, Z_FINISH);
    file.etag = upload_->finish();
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
    unsigned size = 0;
    EVP_DigestFinal_ex(digest_.get(), digest.data(), &size);
    file.md5 = base64({reinterpret_cast<const char*>(digest.data()), size});
  }

 private:
  std::unique_ptr<objects::Upload> upload_;
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> digest_;
  z_stream stream_{};
  std::string buffer_;
};

ExportFile::ExportFile(objects::ObjectStore& store, const std::string& bucket, std::string key,
                       const objects::Terms& terms)
    : key_(std::move(key)), deflater_(std::make_unique<Deflater>(store, bucket, key_, terms)) {}

ExportFile::~ExportFile() = default;

void ExportFile::add(std::string_view line) {
  deflater_->write(line, Z_NO_FLUSH);
  deflater_->write("\n", Z_NO_FLUSH);
  plain_bytes_ += line.size() + 1;
  ++item_count_;
}

catalog::ExportedFile ExportFile::finish() {
  catalog::ExportedFile file{.key = key_, .item_count = item_count_, .md5 = {}, .etag = {}};
  deflater_->finish(file);
  return file;
}

size_t item_line(std::string_view record, std::string& out) {
  const model::RecordHeader header = model::read_header(record);
  out.clear();
  json::Object line(out);
  ops::append_encoded_item(line.key("Item"), record);
  line.close();
  return header.size_bytes;
}

std::optional<size_t> change_line(const ChangedItem& change,
                                  const std::vector<std::string>& key_names, bool with_old,
                                  std::string& out) {
  if (!change.before && !change.after) return std::nullopt;
  size_t size_bytes = 0;
  std::string_view any = change.after ? *change.after : *change.before;
  size_bytes += model::read_header(any).size_bytes;
  if (with_old && change.after && change.before) {
    std::string_view before = *change.before;
    size_bytes += model::read_header(before).size_bytes;
  }
  const model::Item item = model::decode_item(any);
  model::Item key;
  for (const std::string& name : key_names) {
    if (const model::Value* value = item.find(name)) key.set(name, *value);
  }
  out.clear();
  json::Object line(out);
  json::Object metadata(line.key("Metadata"));
  json::Object time(metadata.key("WriteTimestampMicros"));
  time.string("N", std::to_string(change.written_us));
  time.close();
  metadata.close();
  ops::append_item(line.key("Keys"), key);
  append_images(line, change, with_old);
  line.close();
  return size_bytes;
}

void append_file_line(std::string& out, const catalog::ExportedFile& file) {
  json::Object line(out);
  line.integer("itemCount", file.item_count);
  line.string("md5Checksum", file.md5);
  line.string("etag", file.etag);
  line.string("dataFileS3Key", file.key);
  line.close();
  out.push_back('\n');
}

std::string summary_manifest(const catalog::Export& exported, const std::string& files_key) {
  std::string out;
  json::Object summary(out);
  const auto text_or_null = [&](std::string_view name, const std::string& text) {
    if (text.empty()) {
      summary.key(name).append("null");
    } else {
      summary.string(name, text);
    }
  };
  summary.string("version", exported.is_incremental ? "2023-08-01" : "2020-06-30");
  summary.string("exportArn", exported.arn);
  summary.string("startTime", iso_time(exported.start_ms));
  summary.string("endTime", iso_time(exported.end_ms.value_or(exported.start_ms)));
  summary.string("tableArn", exported.table_arn);
  summary.string("tableId", exported.table_id);
  if (exported.is_incremental) {
    summary.string("exportFromTime", iso_time(exported.from_ms));
    summary.string("exportToTime", iso_time(exported.to_ms));
  } else {
    summary.string("exportTime", iso_time(exported.export_time_ms));
  }
  summary.string("s3Bucket", exported.bucket);
  text_or_null("s3Prefix", exported.prefix);
  summary.string("s3SseAlgorithm", exported.sse_algorithm);
  text_or_null("s3SseKmsKeyId", exported.sse_key);
  summary.string("manifestFilesS3Key", files_key);
  summary.integer("billedSizeBytes", exported.billed_bytes);
  summary.integer("itemCount", exported.item_count);
  summary.string("outputFormat", "DYNAMODB_JSON");
  if (exported.is_incremental) {
    summary.string("outputView", exported.has_old_images ? "NEW_AND_OLD_IMAGES" : "NEW_IMAGE");
    summary.string("exportType", "INCREMENTAL_EXPORT");
  }
  summary.close();
  return out;
}

std::string md5_base64(std::string_view bytes) {
  const auto digest = md5({bytes});
  return base64({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

std::string iso_time(int64_t time_ms) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z",
                     fmt::gmtime(static_cast<std::time_t>(time_ms / 1000)), time_ms % 1000);
}

}  // namespace stator::transfer
