// Exports and imports with a clock that the test moves: what is exported is the table at a moment
// or what became of it in a period, what is imported is what was exported, and work goes on after a
// restart.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

#include "common/ids.h"
#include "json/reader.h"
#include "objects/object_store.h"
#include "support/database_case.h"
#include "transfer/source.h"

namespace stator {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kNow_s = 1'800'000'000;
constexpr std::string_view kTableArn = "arn:aws:dynamodb:us-east-1:123456789012:table/Source";

class TransferTest : public ::testing::Test, protected DatabaseCase {
 protected:
  TransferTest()
      : directory_(fs::temp_directory_path() / ("stator_transfer_" + RandomIds().uuid())),
        buckets_(objects::open_folder(directory_ / "s3")) {
    open();
  }
  ~TransferTest() override {
    database_.reset();
    fs::remove_all(directory_);
  }

  void open(uint64_t adversary_seed = 0) {
    database_.reset();
    DatabaseOptions options;
    options.durability = engine::Durability::kOs;
    options.directory = directory_;
    options.clock = &clock_;
    options.adversary_seed = adversary_seed;
    database_ = Database::open(options);
  }
  // The message of the error.
  std::string refused(std::string_view operation, std::string body, std::string_view type) {
    const Answer answer = run(operation, std::move(body));
    EXPECT_EQ(answer.status, 400) << answer.body;
    EXPECT_NE(answer.body.find(type), std::string::npos) << answer.body;
    return text(answer.body, {}, "message");
  }

  // A member of the answer, or of an object in it.
  static std::string text(const std::string& answer, std::string_view object,
                          std::string_view name) {
    json::Document document;
    if (!document.parse(answer)) return "not JSON";
    auto element = document.root();
    if (!object.empty()) {
      const auto inner = json::member(element, object);
      if (!inner) return "none";
      element = *inner;
    }
    const auto value = json::member(element, name);
    if (!value) return "none";
    if (value->is_string()) return std::string(value->get_string().value());
    return simdjson::minify(*value);
  }

  template <typename Condition>
  static bool eventually(Condition condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(2);
    while (std::chrono::steady_clock::now() < end) {
      if (condition()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return false;
  }

  void create_source() {
    must("CreateTable",
         R"({"TableName":"Source","BillingMode":"PAY_PER_REQUEST",
             "AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"}],
             "KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}]})");
    must(
        "UpdateContinuousBackups",
        R"({"TableName":"Source","PointInTimeRecoverySpecification":{"PointInTimeRecoveryEnabled":true}})");
  }
  void put(const std::string& pk, int value) {
    must("PutItem", R"({"TableName":"Source","Item":{"pk":{"S":")" + pk + R"("},"v":{"N":")" +
                        std::to_string(value) + "\"}}}");
  }
  void erase(const std::string& pk) {
    must("DeleteItem", R"({"TableName":"Source","Key":{"pk":{"S":")" + pk + "\"}}}");
  }
  void pass_s(int64_t seconds) { clock_.advance_us(seconds * 1'000'000); }

  std::string begin_export(const std::string& more = {}) {
    return text(must("ExportTableToPointInTime", R"({"TableArn":")" + std::string(kTableArn) +
                                                     R"(","S3Bucket":"bucket")" + more + "}"),
                "ExportDescription", "ExportArn");
  }
  std::string export_ended(const std::string& arn) {
    std::string answer;
    EXPECT_TRUE(eventually([&] {
      answer = must("DescribeExport", R"({"ExportArn":")" + arn + "\"}");
      return text(answer, "ExportDescription", "ExportStatus") != "IN_PROGRESS";
    }));
    return answer;
  }
  static std::string id_of(const std::string& arn) { return arn.substr(arn.rfind('/') + 1); }

  // The lines of all data files below a prefix.
  std::vector<std::string> lines_below(const std::string& prefix) {
    std::vector<std::string> lines;
    for (const auto& info : buckets_->list("bucket", prefix, "", 1000)) {
      if (!info.key.ends_with(".json.gz")) continue;
      const auto source =
          transfer::open_object(*buckets_, "bucket", info, transfer::Compression::kGzip);
      transfer::LineReader reader(*source);
      while (const auto line = reader.next()) lines.emplace_back(*line);
    }
    std::sort(lines.begin(), lines.end());
    return lines;
  }
  static std::string item(const std::string& pk, int value) {
    return R"({"pk":{"S":")" + pk + R"("},"v":{"N":")" + std::to_string(value) + "\"}}";
  }

  std::string begin_import(const std::string& prefix, const std::string& table,
                           const std::string& more = {}, const std::string& schema = {}) {
    const std::string keys =
        schema.empty() ? R"("AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"}],
               "KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}])"
                       : schema;
    return text(must("ImportTable", R"({"ClientToken":")" + table +
                                        R"(","S3BucketSource":{"S3Bucket":"bucket",)" +
                                        R"("S3KeyPrefix":")" + prefix + R"("},)" +
                                        (more.empty() ? R"("InputFormat":"DYNAMODB_JSON")" : more) +
                                        R"(,"TableCreationParameters":{"TableName":")" + table +
                                        R"(","BillingMode":"PAY_PER_REQUEST",)" + keys + "}}"),
                "ImportTableDescription", "ImportArn");
  }
  std::string import_ended(const std::string& arn) {
    std::string answer;
    EXPECT_TRUE(eventually([&] {
      answer = must("DescribeImport", R"({"ImportArn":")" + arn + "\"}");
      return text(answer, "ImportTableDescription", "ImportStatus") != "IN_PROGRESS";
    }));
    return answer;
  }
  std::string imported(const std::string& answer, std::string_view name) {
    return text(answer, "ImportTableDescription", name);
  }
  int64_t count(const std::string& table, const std::string& index = {}) {
    int64_t total = 0;
    std::string start;
    for (int page = 0; page < 1000; ++page) {
      json::Document document;
      document.parse(must("Scan", R"({"TableName":")" + table + R"(","Select":"COUNT")" +
                                      (index.empty() ? "" : R"(,"IndexName":")" + index + "\"") +
                                      (start.empty() ? "" : R"(,"ExclusiveStartKey":)" + start) +
                                      "}"));
      total += json::int_member(document.root(), "Count").value_or(0);
      const auto last = json::member(document.root(), "LastEvaluatedKey");
      if (!last) break;
      start = simdjson::minify(*last);
    }
    return total;
  }

  fs::path directory_;
  std::unique_ptr<objects::ObjectStore> buckets_;
};

TEST_F(TransferTest, AFullExportIsTheTableAtItsMoment) {
  create_source();
  put("a", 1);
  put("b", 1);
  pass_s(10);
  const int64_t moment_s = clock_.now_s();
  put("a", 2);
  erase("b");
  put("c", 3);
  pass_s(1);
  const std::string then =
      begin_export(R"(,"S3Prefix":"then","ExportTime":)" + std::to_string(moment_s));
  const std::string now = begin_export(R"(,"S3Prefix":"now")");
  put("d", 4);
  const std::string answer = export_ended(then);
  EXPECT_EQ(text(answer, "ExportDescription", "ExportStatus"), "COMPLETED") << answer;
  EXPECT_EQ(text(answer, "ExportDescription", "ItemCount"), "2");
  EXPECT_EQ(text(answer, "ExportDescription", "ExportType"), "none");
  EXPECT_EQ(text(answer, "ExportDescription", "ExportManifest"),
            "then/AWSDynamoDB/" + id_of(then) + "/manifest-summary.json");
  export_ended(now);
  EXPECT_EQ(lines_below("then/"), (std::vector<std::string>{"{\"Item\":" + item("a", 1) + "}",
                                                            "{\"Item\":" + item("b", 1) + "}"}));
  EXPECT_EQ(lines_below("now/"), (std::vector<std::string>{"{\"Item\":" + item("a", 2) + "}",
                                                           "{\"Item\":" + item("c", 3) + "}"}));
}

TEST_F(TransferTest, AnIncrementalExportIsWhatBecameOfItems) {
  create_source();
  put("changed", 1);
  put("deleted", 1);
  put("kept", 1);
  pass_s(60);
  const int64_t from_s = clock_.now_s();
  put("changed", 2);
  put("changed", 3);
  erase("deleted");
  put("new", 5);
  put("gone", 1);
  erase("gone");
  const int64_t written_us = clock_.now_us();
  pass_s(1000);
  const int64_t to_s = clock_.now_s();
  put("later", 1);
  put("changed", 4);
  pass_s(10);
  const auto begin = [&](const std::string& prefix, const std::string& view) {
    return begin_export(R"(,"S3Prefix":")" + prefix + R"(","ExportType":"INCREMENTAL_EXPORT",)" +
                        R"("IncrementalExportSpecification":{"ExportFromTime":)" +
                        std::to_string(from_s) + R"(,"ExportToTime":)" + std::to_string(to_s) +
                        view + "}");
  };
  const std::string both = begin("both", "");
  const std::string fresh = begin("new", R"(,"ExportViewType":"NEW_IMAGE")");
  const std::string answer = export_ended(both);
  EXPECT_EQ(text(answer, "ExportDescription", "ExportStatus"), "COMPLETED") << answer;
  EXPECT_EQ(text(answer, "ExportDescription", "ItemCount"), "3");
  EXPECT_EQ(text(answer, "ExportDescription", "ExportTime"), "none");
  EXPECT_EQ(text(answer, "ExportDescription", "BilledSizeBytes"), "10000000");
  export_ended(fresh);
  const auto line = [&](const std::string& pk, const std::string& images) {
    return R"({"Metadata":{"WriteTimestampMicros":{"N":")" + std::to_string(written_us) +
           R"("}},"Keys":{"pk":{"S":")" + pk + "\"}}" + images + "}";
  };
  EXPECT_EQ(lines_below("both/AWSDynamoDB/data/"),
            (std::vector<std::string>{line("changed", R"(,"NewImage":)" + item("changed", 3) +
                                                          R"(,"OldImage":)" + item("changed", 1)),
                                      line("deleted", R"(,"OldImage":)" + item("deleted", 1)),
                                      line("new", R"(,"NewImage":)" + item("new", 5))}));
  EXPECT_EQ(lines_below("new/AWSDynamoDB/data/"),
            (std::vector<std::string>{line("changed", R"(,"NewImage":)" + item("changed", 3)),
                                      line("deleted", ""),
                                      line("new", R"(,"NewImage":)" + item("new", 5))}));
  EXPECT_TRUE(fs::exists(directory_ / "s3/bucket/both/AWSDynamoDB" / id_of(both) /
                         "manifest-summary.json"));
}

TEST_F(TransferTest, PeriodsAndMomentsThatCannotBeExported) {
  create_source();
  const std::string head = R"({"TableArn":")" + std::string(kTableArn) +
                           R"(","S3Bucket":"bucket","ExportType":"INCREMENTAL_EXPORT",)"
                           R"("IncrementalExportSpecification":{"ExportFromTime":)";
  const auto period = [&](int64_t from_s, std::optional<int64_t> to_s) {
    return refused("ExportTableToPointInTime",
                   head + std::to_string(from_s) +
                       (to_s ? R"(,"ExportToTime":)" + std::to_string(*to_s) : "") + "}}",
                   "InvalidExportTimeException");
  };
  EXPECT_EQ(period(kNow_s - 1, kNow_s),
            "Incremental export period from time cannot be less than the table creation time : "
            "2027-01-15T07:59:59Z");
  EXPECT_EQ(period(kNow_s, kNow_s + 3600),
            "Incremental export period to time cannot be greater than the current time : "
            "2027-01-15T09:00:00Z");
  pass_s(899);
  EXPECT_EQ(period(kNow_s, std::nullopt),
            "Difference between export period from time and export period to time is less than 15 "
            "minutes");
  pass_s(1);
  must("ExportTableToPointInTime", head + std::to_string(kNow_s) + "}}");
  pass_s(24 * 3600);
  EXPECT_EQ(
      period(kNow_s, std::nullopt),
      "Difference between export period from time and export period to time is greater than 24 "
      "hours");
  const auto moment = [&](int64_t second) {
    return refused("ExportTableToPointInTime",
                   R"({"TableArn":")" + std::string(kTableArn) +
                       R"(","S3Bucket":"bucket","ExportTime":)" + std::to_string(second) + "}",
                   "InvalidExportTimeException");
  };
  EXPECT_EQ(moment(kNow_s - 1), "Export Time is invalid");
  EXPECT_EQ(moment(clock_.now_s() + 1), "Export Time is invalid");
}

TEST_F(TransferTest, AnExportOutlivesItsTable) {
  create_source();
  for (int i = 0; i < 100; ++i) put("item" + std::to_string(i), i);
  const std::string arn = begin_export();
  must("DeleteTable", R"({"TableName":"Source"})");
  const std::string answer = export_ended(arn);
  EXPECT_EQ(text(answer, "ExportDescription", "ItemCount"), "100") << answer;
  EXPECT_EQ(lines_below("AWSDynamoDB/").size(), 100u);
  EXPECT_EQ(text(must("ListExports", R"({"TableArn":")" + std::string(kTableArn) + "\"}"), {},
                 "ExportSummaries"),
            "[]");
  EXPECT_NE(text(must("ListExports", "{}"), {}, "ExportSummaries"), "[]");
  open();
  EXPECT_EQ(text(export_ended(arn), "ExportDescription", "ItemCount"), "100");
}

TEST_F(TransferTest, ATokenIsOneExport) {
  create_source();
  const std::string first = begin_export(R"(,"ClientToken":"t")");
  EXPECT_EQ(begin_export(R"(,"ClientToken":"t")"), first);
  export_ended(first);
  EXPECT_EQ(begin_export(R"(,"ClientToken":"t")"), first);
  EXPECT_EQ(refused("ExportTableToPointInTime",
                    R"({"TableArn":")" + std::string(kTableArn) +
                        R"(","S3Bucket":"other","ClientToken":"t"})",
                    "ExportConflictException"),
            "Export conflict: Duplicate request detected with conflicting parameters");
  pass_s(8 * 3600 + 1);
  EXPECT_NE(begin_export(R"(,"ClientToken":"t")"), first);
  EXPECT_NE(begin_export(), begin_export());
}

TEST_F(TransferTest, WhatWasExportedIsImported) {
  create_source();
  for (int i = 0; i < 500; ++i) put("item" + std::to_string(i), i % 7);
  const std::string arn = begin_export();
  export_ended(arn);
  const std::string answer = import_ended(begin_import(
      "AWSDynamoDB/" + id_of(arn) + "/data/", "Copy",
      R"("InputFormat":"DYNAMODB_JSON","InputCompressionType":"GZIP")",
      R"("AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"},{"AttributeName":"v","AttributeType":"N"}],
         "KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}],
         "GlobalSecondaryIndexes":[{"IndexName":"by-v","Projection":{"ProjectionType":"ALL"},
           "KeySchema":[{"AttributeName":"v","KeyType":"HASH"}]}])"));
  EXPECT_EQ(imported(answer, "ImportStatus"), "COMPLETED") << answer;
  EXPECT_EQ(imported(answer, "ImportedItemCount"), "500");
  EXPECT_EQ(imported(answer, "ErrorCount"), "0");
  EXPECT_EQ(count("Copy"), 500);
  EXPECT_EQ(count("Copy", "by-v"), 500);
  EXPECT_EQ(text(must("DescribeTable", R"({"TableName":"Copy"})"), "Table", "TableId"),
            imported(answer, "TableId"));
  EXPECT_EQ(text(must("DescribeTable", R"({"TableName":"Copy"})"), "Table", "ItemCount"), "500");
  put("after", 1);
}

TEST_F(TransferTest, ItemsOfOneKeyOverwriteEachOther) {
  std::string lines;
  for (int i = 0; i < 1000; ++i) {
    lines += R"({"Item":{"pk":{"S":")" + std::to_string(i % 10) + R"("},"g":{"S":")" +
             std::to_string(i) + "\"}}}\n";
  }
  buckets_->put("bucket", "in/1", lines);
  buckets_->put("bucket", "in/2", lines);
  const std::string answer = import_ended(begin_import(
      "in/", "Copy", {},
      R"("AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"},{"AttributeName":"g","AttributeType":"S"}],
         "KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}],
         "GlobalSecondaryIndexes":[{"IndexName":"by-g","Projection":{"ProjectionType":"ALL"},
           "KeySchema":[{"AttributeName":"g","KeyType":"HASH"}]}])"));
  EXPECT_EQ(imported(answer, "ImportStatus"), "COMPLETED") << answer;
  EXPECT_EQ(imported(answer, "ImportedItemCount"), "2000");
  EXPECT_EQ(imported(answer, "ProcessedSizeBytes"), std::to_string(2 * lines.size()));
  EXPECT_EQ(count("Copy"), 10);
  EXPECT_EQ(count("Copy", "by-g"), 10);
  EXPECT_EQ(text(must("DescribeTable", R"({"TableName":"Copy"})"), "Table", "ItemCount"), "10");
}

TEST_F(TransferTest, ErrorsAreCountedAndLoggedAndTheRestIsThere) {
  const auto good = [](int i) { return R"({"Item":{"pk":{"S":")" + std::to_string(i) + "\"}}}\n"; };
  buckets_->put("bucket", "in/a", good(1) + "{\"Item\":{\"x\":{\"S\":\"1\"}}}\n" + good(2));
  buckets_->put("bucket", "in/b", good(3) + "nonsense\n" + good(4));
  buckets_->put("bucket", "in/c", "");
  const std::string arn = begin_import("in/", "Copy");
  const std::string answer = import_ended(arn);
  EXPECT_EQ(imported(answer, "ImportStatus"), "FAILED");
  EXPECT_EQ(imported(answer, "FailureCode"), "ItemValidationError");
  EXPECT_EQ(imported(answer, "FailureMessage"),
            "Some of the items failed validation checks and were not imported. Please check "
            "CloudWatch error logs for more details.");
  EXPECT_EQ(imported(answer, "ProcessedItemCount"), "5");
  EXPECT_EQ(imported(answer, "ImportedItemCount"), "3");
  EXPECT_EQ(imported(answer, "ErrorCount"), "2");
  EXPECT_EQ(count("Copy"), 3);
  std::ifstream log(directory_ / "logs/aws-dynamodb/imports" / id_of(arn) / "error");
  std::string line;
  std::getline(log, line);
  EXPECT_EQ(
      line,
      R"({"itemS3Pointer":{"bucket":"bucket","key":"in/a","itemIndex":1},"importArn":")" + arn +
          R"(","errorMessages":["One or more parameter values were invalid: Missing the key pk in the item"]})");
  std::getline(log, line);
  EXPECT_EQ(line,
            R"({"itemS3Pointer":{"bucket":"bucket","key":"in/b","itemIndex":1},"importArn":")" +
                arn + R"(","errorMessages":["bucket/in/b: line 2 is not JSON"]})");
  EXPECT_FALSE(std::getline(log, line));
}

TEST_F(TransferTest, WithoutABucketThereIsNoTable) {
  const std::string arn =
      text(must("ImportTable",
                R"({"ClientToken":"t","S3BucketSource":{"S3Bucket":"nobody"},"InputFormat":"CSV",
               "TableCreationParameters":{"TableName":"Copy","BillingMode":"PAY_PER_REQUEST",
               "AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"}],
               "KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}]}})"),
           "ImportTableDescription", "ImportArn");
  const std::string answer = import_ended(arn);
  EXPECT_EQ(imported(answer, "FailureCode"), "S3NoSuchBucket") << answer;
  EXPECT_EQ(imported(answer, "FailureMessage"), "The specified bucket does not exist: nobody");
  EXPECT_EQ(run("DescribeTable", R"({"TableName":"Copy"})").status, 400);
}

TEST_F(TransferTest, NothingToImportIsAnEmptyTable) {
  buckets_->put("bucket", "elsewhere", "x");
  const std::string answer = import_ended(begin_import("in/", "Copy"));
  EXPECT_EQ(imported(answer, "ImportStatus"), "COMPLETED") << answer;
  EXPECT_EQ(count("Copy"), 0);
}

TEST_F(TransferTest, AnImportGoesOnAfterARestart) {
  // Compressed, so that going on means reading over what is done.
  std::string all;
  for (int object = 0; object < 3; ++object) {
    std::string lines;
    for (int i = 0; i < 20'000; ++i) {
      lines +=
          R"({"Item":{"pk":{"S":"key-)" + std::to_string(object) + "-" + std::to_string(i) +
          R"("},"filler":{"S":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}}})" +
          "\n";
      if (i % 5000 == 17) lines += "{\"Item\":{}}\n";
    }
    buckets_->put("bucket", "in/" + std::to_string(object), lines);
    all += lines;
  }
  const std::string arn = begin_import("in/", "Copy");
  int restarts = 0;
  EXPECT_TRUE(eventually([&] {
    const std::string answer = must("DescribeImport", R"({"ImportArn":")" + arn + "\"}");
    if (imported(answer, "ImportStatus") != "IN_PROGRESS") return true;
    if (imported(answer, "ProcessedItemCount") != "0" && restarts < 20) {
      ++restarts;
      open();
    }
    return false;
  }));
  EXPECT_GT(restarts, 0);
  const std::string answer = import_ended(arn);
  EXPECT_EQ(imported(answer, "ProcessedItemCount"), "60012") << answer;
  EXPECT_EQ(imported(answer, "ImportedItemCount"), "60000");
  EXPECT_EQ(imported(answer, "ErrorCount"), "12");
  EXPECT_EQ(imported(answer, "ProcessedSizeBytes"), std::to_string(all.size()));
  EXPECT_EQ(count("Copy"), 60'000);
  std::ifstream log(directory_ / "logs/aws-dynamodb/imports" / id_of(arn) / "error");
  std::string line;
  int logged = 0;
  while (std::getline(log, line)) ++logged;
  EXPECT_EQ(logged, 12);  // each once, however often it was read
}

TEST_F(TransferTest, AnExportGoesOnAfterARestart) {
  create_source();
  for (int i = 0; i < 200; ++i) put("item" + std::to_string(i), i);
  const std::string arn = begin_export();
  open();
  const std::string answer = export_ended(arn);
  EXPECT_EQ(text(answer, "ExportDescription", "ExportStatus"), "COMPLETED") << answer;
  EXPECT_EQ(lines_below("AWSDynamoDB/").size(), 200u);
  EXPECT_TRUE(fs::is_empty(directory_ / "s3/bucket/.stator-uploads"));
}

TEST_F(TransferTest, OnAnEngineThatMisbehaves) {
  open(42);
  create_source();
  for (int i = 0; i < 300; ++i) put("item" + std::to_string(i), i);
  const std::string arn = begin_export();
  EXPECT_EQ(text(export_ended(arn), "ExportDescription", "ItemCount"), "300");
  const std::string answer =
      import_ended(begin_import("AWSDynamoDB/" + id_of(arn) + "/data/", "Copy",
                                R"("InputFormat":"DYNAMODB_JSON","InputCompressionType":"GZIP")"));
  EXPECT_EQ(imported(answer, "ImportedItemCount"), "300") << answer;
  EXPECT_EQ(count("Copy"), 300);
}

TEST_F(TransferTest, RecordsAreForgottenAfterNinetyDays) {
  create_source();
  const std::string arn = begin_export();
  export_ended(arn);
  pass_s(90LL * 24 * 3600 + 1);
  EXPECT_TRUE(eventually([&] {
    return run("DescribeExport", R"({"ExportArn":")" + arn + "\"}")
               .body.find("ExportNotFoundException") != std::string::npos;
  }));
}

}  // namespace
}  // namespace stator
