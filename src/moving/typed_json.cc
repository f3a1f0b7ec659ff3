#include "moving/typed_json.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include "json/writer.h"

namespace stator::moving {

namespace {

namespace ondemand = simdjson::ondemand;

// Ends of what simdjson calls a number's token: it may have white space behind it.
std::string_view number_token(std::string_view token) {
  return token.substr(0, token.find_last_not_of(" \t\r\n") + 1);
}

void append_typed(std::string& out, ondemand::value value);

void append_map(std::string& out, ondemand::object object) {
  json::Object map(out);
  for (auto field : object) {
    std::string_view name;
    if (field.unescaped_key().get(name) != simdjson::SUCCESS)
      throw std::runtime_error("a name cannot be read");
    append_typed(map.key(name), field.value());
  }
  map.close();
}

void append_typed(std::string& out, ondemand::value value) {
  json::Object typed(out);
  switch (value.type()) {
    case ondemand::json_type::string:
      typed.string("S", std::string_view(value.get_string()));
      break;
    case ondemand::json_type::number:
      // As it is written: a double would lose digits.
      typed.string("N", number_token(value.raw_json_token()));
      break;
    case ondemand::json_type::boolean:
      typed.boolean("BOOL", bool(value.get_bool()));
      break;
    case ondemand::json_type::null:
      if (!value.is_null()) throw std::runtime_error("a value cannot be read");
      typed.boolean("NULL", true);
      break;
    case ondemand::json_type::array: {
      json::Array list(typed.key("L"));
      for (auto element : value.get_array()) append_typed(list.element(), element.value());
      list.close();
      break;
    }
    case ondemand::json_type::object:
      append_map(typed.key("M"), value.get_object());
      break;
  }
  typed.close();
}

constexpr std::array<std::string_view, 10> kTypes = {"S",  "N",  "B",  "BOOL", "NULL",
                                                     "SS", "NS", "BS", "L",    "M"};

void append_keys(json::Object& to, const json::Element& from) {
  to.key("KeySchema").append(simdjson::minify(*json::member(from, "KeySchema")));
}

// The units that an index or a table asks for.
void append_throughput(json::Object& to, const json::Element& from) {
  const auto throughput = json::member(from, "ProvisionedThroughput");
  if (!throughput) return;
  json::Object units(to.key("ProvisionedThroughput"));
  for (const char* name : {"ReadCapacityUnits", "WriteCapacityUnits"})
    units.integer(name, json::int_member(*throughput, name).value_or(1));
  units.close();
}

}  // namespace

std::string typed_item(std::string_view plain) {
  const simdjson::padded_string padded(plain);
  ondemand::parser parser;
  std::string out;
  try {
    ondemand::document document = parser.iterate(padded);
    append_map(out, document.get_object());
    if (!document.at_end()) throw std::runtime_error("text follows the object");
  } catch (const simdjson::simdjson_error& error) {
    throw std::runtime_error(std::string("not a JSON object: ") + error.what());
  }
  return out;
}

bool is_typed_item(const json::Element& object) {
  simdjson::dom::object members;
  if (object.get(members) != simdjson::SUCCESS) return false;
  bool any = false;
  for (const auto& member : members) {
    simdjson::dom::object value;
    if (member.value.get(value) != simdjson::SUCCESS || value.size() != 1) return false;
    const std::string_view type = (*value.begin()).key;
    if (std::find(kTypes.begin(), kTypes.end(), type) == kTypes.end()) return false;
    any = true;
  }
  return any;
}

std::string create_request_of(const json::Element& description) {
  std::string out;
  json::Object request(out);
  request.key("AttributeDefinitions")
      .append(simdjson::minify(*json::member(description, "AttributeDefinitions")));
  append_keys(request, description);
  const auto billing = json::member(description, "BillingModeSummary");
  const bool on_demand =
      billing && json::string_member(*billing, "BillingMode").value_or("") == "PAY_PER_REQUEST";
  request.string("BillingMode", on_demand ? "PAY_PER_REQUEST" : "PROVISIONED");
  if (!on_demand) append_throughput(request, description);
  for (const char* kind : {"GlobalSecondaryIndexes", "LocalSecondaryIndexes"}) {
    const auto indexes = json::array_member(description, kind);
    if (!indexes || indexes->size() == 0) continue;
    json::Array list(request.key(kind));
    for (const json::Element index : *indexes) {
      json::Object entry(list.element());
      entry.string("IndexName", json::string_member(index, "IndexName").value_or(""));
      append_keys(entry, index);
      entry.key("Projection").append(simdjson::minify(*json::member(index, "Projection")));
      if (!on_demand && kind[0] == 'G') append_throughput(entry, index);
      entry.close();
    }
    list.close();
  }
  if (const auto stream = json::member(description, "StreamSpecification"))
    request.key("StreamSpecification").append(simdjson::minify(*stream));
  request.close();
  return out;
}

}  // namespace stator::moving
