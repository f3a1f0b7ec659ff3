#include "moving/scan.h"

#include <stdexcept>

#include "json/reader.h"
#include "json/writer.h"
#include "moving/typed_json.h"

namespace stator::moving {

namespace {

class Segment final : public PartReader {
 public:
  Segment(client::Endpoint& endpoint, std::string table, size_t segment, size_t segments,
          std::string start)
      : endpoint_(endpoint),
        table_(std::move(table)),
        segment_(segment),
        segments_(segments),
        start_(std::move(start)) {}

  // A page of the scan at a time, however many that are: the next position is only known behind it.
  bool read(std::vector<Change>& changes, size_t /*most*/) override {
    const size_t before = changes.size();
    while (!at_end_ && changes.size() == before) read_page(changes);
    return changes.size() > before;
  }
  std::string position() const override { return at_end_ ? "end" : start_; }
  uint64_t done() const override { return items_; }

 private:
  void read_page(std::vector<Change>& changes) {
    if (start_ == "end") {
      at_end_ = true;
      return;
    }
    std::string body;
    json::Object request(body);
    request.string("TableName", table_);
    request.integer("Segment", static_cast<int64_t>(segment_));
    request.integer("TotalSegments", static_cast<int64_t>(segments_));
    request.boolean("ConsistentRead", true);
    if (!start_.empty()) request.key("ExclusiveStartKey").append(start_);
    request.close();
    json::Document answer;
    if (!answer.parse(endpoint_.call("Scan", body)))
      throw std::runtime_error("the answer of " + endpoint_.name() + " is not JSON");
    for (const json::Element item : client::list_of(answer.root(), "Items")) {
      changes.push_back({simdjson::minify(item), false});
      ++items_;
    }
    const auto last = json::member(answer.root(), "LastEvaluatedKey");
    at_end_ = !last;
    if (last) start_ = simdjson::minify(*last);
  }

  client::Endpoint& endpoint_;
  const std::string table_;
  const size_t segment_;
  const size_t segments_;
  std::string start_;
  bool at_end_ = false;
  uint64_t items_ = 0;
};

}  // namespace

ScannedTable describe_table(client::Endpoint& endpoint, const std::string& table) {
  std::string body;
  json::Object request(body);
  request.string("TableName", table);
  request.close();
  json::Document answer;
  if (!answer.parse(endpoint.call("DescribeTable", body)))
    throw std::runtime_error("the answer of " + endpoint.name() + " is not JSON");
  const json::Element description = *json::member(answer.root(), "Table");
  ScannedTable scanned;
  scanned.arn = json::string_member(description, "TableArn").value_or("");
  scanned.id = json::string_member(description, "TableId").value_or("");
  scanned.item_count = json::int_member(description, "ItemCount").value_or(0);
  scanned.size_bytes = json::int_member(description, "TableSizeBytes").value_or(0);
  for (const json::Element key : client::list_of(description, "KeySchema"))
    scanned.key_names.emplace_back(json::string_member(key, "AttributeName").value_or(""));
  scanned.create_request = create_request_of(description);
  return scanned;
}

std::unique_ptr<PartReader> open_segment(client::Endpoint& endpoint, std::string table,
                                         size_t segment, size_t segments, std::string position) {
  return std::make_unique<Segment>(endpoint, std::move(table), segment, segments,
                                   std::move(position));
}

}  // namespace stator::moving
