// Data models of NoSQL Workbench: tables, indexes and sample data in one JSON file.
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>

#include "json/reader.h"
#include "json/writer.h"
#include "moving/item_source.h"
#include "moving/typed_json.h"

namespace stator::moving {

namespace {

std::string text(const json::Element& element, std::string_view name) {
  return std::string(json::string_member(element, name).value_or(""));
}

// Collects the keys of a table or index, and the types of their attributes.
void append_keys(json::Object& to, const json::Element& owner,
                 std::map<std::string, std::string>& types) {
  const auto keys = json::member(owner, "KeyAttributes");
  if (!keys) throw std::runtime_error("a table or index of the model has no KeyAttributes");
  json::Array schema(to.key("KeySchema"));
  for (const auto& [role, type] : {std::pair{"PartitionKey", "HASH"}, {"SortKey", "RANGE"}}) {
    const auto key = json::member(*keys, role);
    if (!key) continue;
    const std::string name = text(*key, "AttributeName");
    if (const std::string kind = text(*key, "AttributeType"); !kind.empty()) types[name] = kind;
    json::Object entry(schema.element());
    entry.string("AttributeName", name);
    entry.string("KeyType", type);
    entry.close();
  }
  schema.close();
}

std::string create_request(const json::Element& table) {
  std::map<std::string, std::string> types;
  std::string out;
  json::Object request(out);
  append_keys(request, table, types);
  // A model may name the capacity of its tables; on demand is what fits a table without a past.
  request.string("BillingMode", "PAY_PER_REQUEST");
  for (const char* kind : {"GlobalSecondaryIndexes", "LocalSecondaryIndexes"}) {
    const auto indexes = json::array_member(table, kind);
    if (!indexes || indexes->size() == 0) continue;
    json::Array list(request.key(kind));
    for (const json::Element index : *indexes) {
      json::Object entry(list.element());
      entry.string("IndexName", text(index, "IndexName"));
      append_keys(entry, index, types);
      const auto projection = json::member(index, "Projection");
      entry.key("Projection")
          .append(projection ? simdjson::minify(*projection) : R"({"ProjectionType":"ALL"})");
      entry.close();
    }
    list.close();
  }
  // The key of an index may have its type with the other attributes.
  if (const auto others = json::array_member(table, "NonKeyAttributes")) {
    for (const json::Element attribute : *others) {
      const auto known = types.find(text(attribute, "AttributeName"));
      if (known != types.end() && known->second.empty())
        known->second = text(attribute, "AttributeType");
    }
  }
  json::Array definitions(request.key("AttributeDefinitions"));
  for (const auto& [name, type] : types) {
    json::Object definition(definitions.element());
    definition.string("AttributeName", name);
    definition.string("AttributeType", type);
    definition.close();
  }
  definitions.close();
  request.close();
  return out;
}

class SampleData final : public PartReader {
 public:
  SampleData(const std::vector<std::string>& items, size_t from) : items_(items), at_(from) {}
  bool read(std::vector<Change>& changes, size_t most) override {
    if (at_ >= items_.size()) return false;
    for (; most > 0 && at_ < items_.size(); --most) changes.push_back({items_[at_++], false});
    return true;
  }
  std::string position() const override { return std::to_string(at_); }
  uint64_t done() const override { return at_; }

 private:
  const std::vector<std::string>& items_;
  size_t at_;
};

class ModelTable final : public Source {
 public:
  explicit ModelTable(const json::Element& table)
      : definition_{text(table, "TableName"), create_request(table)} {
    const auto data = json::array_member(table, "TableData");
    if (!data) return;
    for (const json::Element item : *data) items_.push_back(simdjson::minify(item));
  }
  TableDefinition definition() const override { return definition_; }
  size_t part_count() const override { return 1; }
  std::unique_ptr<PartReader> open(size_t /*part*/, const std::string& position) override {
    return std::make_unique<SampleData>(items_, position.empty() ? 0 : std::stoul(position));
  }
  uint64_t total() const override { return items_.size(); }
  bool counts_bytes() const override { return false; }

 private:
  TableDefinition definition_;
  std::vector<std::string> items_;
};

}  // namespace

std::vector<std::unique_ptr<Source>> open_workbench_model(const std::string& path,
                                                          const std::string& table) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path);
  std::string text_of_file((std::istreambuf_iterator<char>(file)), {});
  json::Document document;
  if (!document.parse(std::move(text_of_file)))
    throw std::runtime_error(path + " is not one JSON document");
  const auto tables = json::array_member(document.root(), "DataModel");
  if (!tables) throw std::runtime_error(path + " is not a model of NoSQL Workbench: no DataModel");
  std::vector<std::unique_ptr<Source>> sources;
  for (const json::Element entry : *tables) {
    if (table.empty() || text(entry, "TableName") == table)
      sources.push_back(std::make_unique<ModelTable>(entry));
  }
  if (sources.empty()) throw std::runtime_error(path + " has no table " + table);
  return sources;
}

}  // namespace stator::moving
