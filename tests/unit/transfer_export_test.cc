// The form of what is exported: lines, manifests, names.
#include "transfer/export_file.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "json/reader.h"
#include "model/codec.h"
#include "transfer/source.h"

namespace stator::transfer {
namespace {

std::string record(const std::string& pk, const std::string& value) {
  model::Item item;
  item.set("pk", model::Value::string(pk));
  item.set("v", model::Value::string(value));
  return model::encode_record(item, {.size_bytes = model::size_bytes(item), .written_us = 1});
}

catalog::Export an_export() {
  catalog::Export exported;
  exported.id = "01693685827463-2d8752fd";
  exported.arn =
      "arn:aws:dynamodb:us-east-1:123456789012:table/Orders/export/01693685827463-2d8752fd";
  exported.table_arn = "arn:aws:dynamodb:us-east-1:123456789012:table/Orders";
  exported.table_id = "12345a12-abcd-123a-ab12-1234abc12345";
  exported.bucket = "bucket";
  exported.start_ms = 1604474914028;
  exported.end_ms = 1604475223897;
  exported.export_time_ms = 1604474914028;
  exported.item_count = 8;
  return exported;
}

TEST(Export, KeysAreThoseOfTheService) {
  catalog::Export exported = an_export();
  EXPECT_EQ(export_folder(exported), "AWSDynamoDB/01693685827463-2d8752fd/");
  EXPECT_EQ(data_file_key(exported, "abc"), "AWSDynamoDB/01693685827463-2d8752fd/data/abc.json.gz");
  exported.prefix = "a/b";
  EXPECT_EQ(export_folder(exported), "a/b/AWSDynamoDB/01693685827463-2d8752fd/");
  exported.prefix = "a/b/";
  EXPECT_EQ(export_folder(exported), "a/b/AWSDynamoDB/01693685827463-2d8752fd/");
  exported.is_incremental = true;
  EXPECT_EQ(data_file_key(exported, "abc"), "a/b/AWSDynamoDB/data/abc.json.gz");
}

TEST(Export, FileNamesAreRandom) {
  RandomIds ids(7);
  const std::string name = random_file_name(ids);
  EXPECT_EQ(name.size(), 26u);
  EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz234567"), std::string::npos);
  EXPECT_NE(random_file_name(ids), name);
}

TEST(Export, SummaryOfAFullOne) {
  EXPECT_EQ(
      summary_manifest(an_export(), "AWSDynamoDB/x/manifest-files.json"),
      "{\"version\":\"2020-06-30\",\"exportArn\":\"arn:aws:dynamodb:us-east-1:123456789012:table/"
      "Orders/export/"
      "01693685827463-2d8752fd\",\"startTime\":\"2020-11-04T07:28:34.028Z\",\"endTime\":"
      "\"2020-11-04T07:33:43.897Z\",\"tableArn\":\"arn:aws:dynamodb:us-east-1:123456789012:table/"
      "Orders\",\"tableId\":\"12345a12-abcd-123a-ab12-1234abc12345\",\"exportTime\":\"2020-11-"
      "04T07:28:"
      "34.028Z\",\"s3Bucket\":\"bucket\",\"s3Prefix\":null,\"s3SseAlgorithm\":\"AES256\","
      "\"s3SseKmsKeyId\":null,\"manifestFilesS3Key\":\"AWSDynamoDB/x/manifest-files.json\","
      "\"billedSizeBytes\":0,\"itemCount\":8,\"outputFormat\":\"DYNAMODB_JSON\"}");
}

TEST(Export, SummaryOfAnIncrementalOne) {
  catalog::Export exported = an_export();
  exported.is_incremental = true;
  exported.from_ms = 1695056400000;
  exported.to_ms = 1695096000000;
  exported.prefix = "p";
  json::Document document;
  ASSERT_TRUE(document.parse(summary_manifest(exported, "k")));
  EXPECT_EQ(json::string_member(document.root(), "version"), "2023-08-01");
  EXPECT_EQ(json::string_member(document.root(), "exportFromTime"), "2023-09-18T17:00:00.000Z");
  EXPECT_EQ(json::string_member(document.root(), "exportToTime"), "2023-09-19T04:00:00.000Z");
  EXPECT_EQ(json::string_member(document.root(), "outputView"), "NEW_AND_OLD_IMAGES");
  EXPECT_EQ(json::string_member(document.root(), "exportType"), "INCREMENTAL_EXPORT");
  EXPECT_EQ(json::string_member(document.root(), "s3Prefix"), "p");
  EXPECT_FALSE(json::member(document.root(), "exportTime"));
}

TEST(Export, LinesOfItemsAndChanges) {
  std::string line;
  EXPECT_EQ(item_line(record("a", "1"), line), 5u);
  EXPECT_EQ(line, R"({"Item":{"pk":{"S":"a"},"v":{"S":"1"}}})");
  const std::optional<std::string> none;
  const std::optional<std::string> old = record("a", "1");
  const std::optional<std::string> fresh = record("a", "22");
  const auto change = [&](const auto& before, const auto& after, bool with_old) -> std::string {
    const auto size = change_line({before, after, 1680109764000000}, {"pk"}, with_old, line);
    return size ? line : "";
  };
  const std::string head =
      R"({"Metadata":{"WriteTimestampMicros":{"N":"1680109764000000"}},"Keys":{"pk":{"S":"a"}})";
  const std::string new_image = R"(,"NewImage":{"pk":{"S":"a"},"v":{"S":"22"}})";
  const std::string old_image = R"(,"OldImage":{"pk":{"S":"a"},"v":{"S":"1"}})";
  EXPECT_EQ(change(none, fresh, true), head + new_image + "}");
  EXPECT_EQ(change(old, fresh, true), head + new_image + old_image + "}");
  EXPECT_EQ(change(old, fresh, false), head + new_image + "}");
  EXPECT_EQ(change(old, none, true), head + old_image + "}");
  EXPECT_EQ(change(old, none, false), head + "}");
  EXPECT_EQ(change(none, none, true), "");
}

TEST(Export, FilesHaveTheChecksumsThatTheManifestSays) {
  const auto root =
      std::filesystem::temp_directory_path() / ("stator_export_" + RandomIds().uuid());
  const auto store = objects::open_folder(root);
  ExportFile file(*store, "bucket", "data/x.json.gz");
  for (int i = 0; i < 1000; ++i) file.add("{\"Item\":{\"n\":" + std::to_string(i) + "}}");
  const catalog::ExportedFile done = file.finish();
  EXPECT_EQ(done.item_count, 1000);
  const std::string bytes = store->read("bucket", "data/x.json.gz", 0, 1'000'000);
  EXPECT_EQ(done.md5, md5_base64(bytes));
  std::string plain;
  const auto inflater = make_inflater(Compression::kGzip);
  inflater->feed(bytes, plain);
  inflater->finish();
  EXPECT_TRUE(plain.starts_with("{\"Item\":{\"n\":0}}\n"));
  EXPECT_TRUE(plain.ends_with("{\"Item\":{\"n\":999}}\n"));
  std::string line;
  append_file_line(line, done);
  EXPECT_EQ(line, "{\"itemCount\":1000,\"md5Checksum\":\"" + done.md5 + "\",\"etag\":\"" +
                      done.etag + "\",\"dataFileS3Key\":\"data/x.json.gz\"}\n");
  // A file that is given up leaves nothing.
  { ExportFile abandoned(*store, "bucket", "data/y.json.gz"); }
  EXPECT_EQ(store->list("bucket", "", "", 10).size(), 1u);
  std::filesystem::remove_all(root);
}

}  // namespace
}  // namespace stator::transfer
