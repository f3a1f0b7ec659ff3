// An export or an import that ended early goes on where it was, and reads nothing twice that it had
// noted.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <set>
#include <sstream>

#include "json/reader.h"
#include "moving/export.h"
#include "moving/import.h"

namespace stator::moving {
namespace {

namespace fs = std::filesystem;

// A table whose segments have so many pages of two items each, and which answers so many scans and
// writes, then none.
class Table final : public client::Endpoint {
 public:
  static constexpr int kPages = 5;

  client::Reply send(std::string_view operation, std::string body) override {
    const std::lock_guard lock(mutex_);
    json::Document request;
    EXPECT_TRUE(request.parse(std::move(body)));
    if (operation == "DescribeTable") return {200, std::string(kDescription)};
    if (answers_left_-- <= 0) throw std::runtime_error("the line is cut");
    if (operation == "Scan") return {200, page(request.root())};
    EXPECT_EQ(operation, "BatchWriteItem");
    const auto tables = *json::member(request.root(), "RequestItems");
    const auto puts = client::list_of(tables, "Things");
    for (const json::Element put : puts) {
      const auto item = *json::member(*json::member(put, "PutRequest"), "Item");
      ++written_[std::string(*json::string_member(*json::member(item, "id"), "S"))];
    }
    return {200, R"({"UnprocessedItems":{}})"};
  }
  std::string name() const override { return "a table"; }

  void answer(int times) { answers_left_ = times; }
  // How often each page was read.
  std::map<std::string, int> pages_;
  std::map<std::string, int> written_;

 private:
  static constexpr std::string_view kDescription = R"({"Table":{
    "TableName":"Things","TableStatus":"ACTIVE","TableArn":"arn:aws:dynamodb:x:1:table/Things",
    "TableId":"1","ItemCount":20,"TableSizeBytes":100,
    "KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],
    "AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}]}})";

  std::string page(const json::Element& request) {
    const int64_t segment = *json::int_member(request, "Segment");
    int number = 0;
    if (const auto start = json::member(request, "ExclusiveStartKey"))
      number = std::stoi(std::string(*json::string_member(*json::member(*start, "id"), "S"))) + 1;
    const std::string name = std::to_string(segment) + "/" + std::to_string(number);
    ++pages_[name];
    std::string out = R"({"Items":[)";
    for (const char* which : {"a", "b"}) {
      if (*which == 'b') out += ",";
      out += R"({"id":{"S":")" + name + which + R"("},")" + which + R"(":{"N":"1"}})";
    }
    out += "]";
    if (number + 1 < kPages)
      out += R"(,"LastEvaluatedKey":{"id":{"S":")" + std::to_string(number) + R"("}})";
    return out + "}";
  }

  std::mutex mutex_;
  int answers_left_ = 0;
};

class Resume : public testing::Test {
 protected:
  Resume() : folder_(fs::temp_directory_path() / ("stator-resume-" + std::to_string(getpid()))) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~Resume() override { fs::remove_all(folder_); }

  ExportOptions export_options(bool is_csv) const {
    ExportOptions options;
    options.table = "Things";
    options.to = folder_ / "out";
    options.is_csv = is_csv;
    options.segments = 2;
    options.file_bytes = 1;  // every page is noted
    options.state = folder_ / "state";
    options.what = "the test";
    options.quiet = true;
    return options;
  }
  // Lets it be cut off after three answers at a time until it ends; nothing is read twice but the
  // page that nobody had got.
  ExportResult export_in_pieces(bool is_csv) {
    for (int run = 0; run < 100; ++run) {
      table_.answer(3);
      try {
        return export_table(table_, export_options(is_csv));
      } catch (const std::runtime_error& error) {
        EXPECT_STREQ(error.what(), "the line is cut");
      }
    }
    ADD_FAILURE() << "it does not end";
    return {};
  }
  void expect_all_pages_once() const {
    EXPECT_EQ(table_.pages_.size(), 2 * Table::kPages);
    for (const auto& [page, times] : table_.pages_) EXPECT_EQ(times, 1) << page;
  }

  const fs::path folder_;
  Table table_;
};

std::string text_of(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

TEST_F(Resume, AnExportInTheLayoutOfAws) {
  const ExportResult result = export_in_pieces(false);
  EXPECT_EQ(result.items, 20U);
  expect_all_pages_once();
  EXPECT_FALSE(fs::exists(folder_ / "state"));
  size_t files = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(result.folder) / "data")) {
    EXPECT_EQ(entry.path().extension(), ".gz");
    ++files;
  }
  const std::string manifest = text_of(fs::path(result.folder) / "manifest-files.json");
  EXPECT_EQ(static_cast<size_t>(std::count(manifest.begin(), manifest.end(), '\n')), files);
  EXPECT_EQ(files, 2 * Table::kPages);
  EXPECT_NE(text_of(fs::path(result.folder) / "manifest-summary.json").find("\"itemCount\":20"),
            std::string::npos);
}

TEST_F(Resume, AnExportAsCsv) {
  const ExportResult result = export_in_pieces(true);
  EXPECT_EQ(result.items, 20U);
  expect_all_pages_once();
  EXPECT_FALSE(fs::exists(folder_ / "state"));
  std::istringstream csv(text_of(folder_ / "out" / "Things.csv"));
  std::string line;
  std::getline(csv, line);
  EXPECT_EQ(line, "id,a,b");
  std::set<std::string> rows;
  while (std::getline(csv, line)) rows.insert(line);
  EXPECT_EQ(rows.size(), 20U);
  EXPECT_TRUE(rows.contains("1/4b,,1"));
  for (const auto& entry : fs::directory_iterator(folder_ / "out"))
    EXPECT_EQ(entry.path().filename(), "Things.csv");
}

TEST_F(Resume, CsvWhoseItemsWereLostWithTheMachineReadsThemAgain) {
  table_.answer(7);
  EXPECT_THROW(export_table(table_, export_options(true)), std::runtime_error);
  for (const char* name : {".Things-0.jsonl", ".Things-1.jsonl"})
    fs::resize_file(folder_ / "out" / name, 1);
  table_.answer(100);
  EXPECT_EQ(export_table(table_, export_options(true)).items, 20U);
  const std::string csv = text_of(folder_ / "out" / "Things.csv");
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 21);
}

TEST_F(Resume, WhatAnUnfinishedFileHadBehindTheNoteIsNotTwice) {
  table_.answer(3);
  EXPECT_THROW(export_table(table_, export_options(true)), std::runtime_error);
  for (const char* name : {".Things-0.jsonl", ".Things-1.jsonl"})
    std::ofstream(folder_ / "out" / name, std::ios::app) << R"({"id":{"S":"half a l)";
  table_.answer(100);
  EXPECT_EQ(export_table(table_, export_options(true)).items, 20U);
  const std::string csv = text_of(folder_ / "out" / "Things.csv");
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 21);
  EXPECT_EQ(csv.find("half"), std::string::npos);
}

// Sends itself a signal while the first page is read.
class Interrupting final : public client::Endpoint {
 public:
  explicit Interrupting(client::Endpoint& table) : table_(table) {}
  client::Reply send(std::string_view operation, std::string body) override {
    if (operation == "Scan") std::raise(SIGINT);
    return table_.send(operation, std::move(body));
  }
  std::string name() const override { return table_.name(); }

 private:
  client::Endpoint& table_;
};

TEST_F(Resume, ASignalEndsItAndTheSameCallGoesOn) {
  table_.answer(100);
  ExportOptions options = export_options(true);
  options.segments = 1;  // a second signal would end the test
  Interrupting interrupted(table_);
  try {
    export_table(interrupted, options);
    ADD_FAILURE() << "it went on";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "interrupted; the same command goes on from here");
  }
  EXPECT_EQ(export_table(table_, options).items, 2U * Table::kPages);
}

TEST_F(Resume, AnImport) {
  constexpr int kItems = 1000;
  {
    std::ofstream file(folder_ / "items.json");
    for (int i = 0; i < kItems; ++i) file << R"({"Item":{"id":{"S":")" << i << "\"}}}\n";
  }
  SourceOptions from;
  from.from = (folder_ / "items.json").string();
  ImportOptions options;
  options.table = "Things";
  options.writers = 1;
  options.state = folder_ / "state";
  options.what = "the test";
  options.quiet = true;
  int runs = 0;
  uint64_t items = 0;
  for (; runs < 100; ++runs) {
    table_.answer(7);
    const auto sources = open_sources(from, {});
    try {
      const ImportResult result = import_items(*sources.at(0), table_, options);
      items = result.items + result.resumed_items;
      break;
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "the line is cut");
    }
  }
  EXPECT_EQ(runs, 5);  // 40 batches, 7 at a time
  EXPECT_EQ(items, static_cast<uint64_t>(kItems));
  EXPECT_EQ(table_.written_.size(), static_cast<size_t>(kItems));
  for (const auto& [id, times] : table_.written_) EXPECT_EQ(times, 1) << id;
  EXPECT_FALSE(fs::exists(folder_ / "state"));
}

}  // namespace
}  // namespace stator::moving
