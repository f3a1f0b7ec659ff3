#include "client/plain_value.h"

#include <string_view>

#include "json/writer.h"

namespace stator::client {

namespace {

template <typename Each>
void append_list(std::string& out, const json::ArrayElement& list, const Each& each) {
  json::Array array(out);
  for (const json::Element element : list) array.element().append(each(element));
  array.close();
}

std::string quoted(std::string_view text) {
  std::string out;
  json::append_quoted(out, text);
  return out;
}

// The only member of {"S": …}.
bool split(const json::Element& typed, std::string_view& type, json::Element& value) {
  simdjson::dom::object object;
  if (typed.get(object) != simdjson::SUCCESS) return false;
  for (const auto& member : object) {
    type = member.key;
    value = member.value;
    return true;
  }
  return false;
}

}  // namespace

std::string json_value(const json::Element& typed) {
  std::string_view type;
  json::Element value;
  if (!split(typed, type, value)) return "null";
  std::string out;
  if (type == "N") return std::string(value.get_string().value_unsafe());
  if (type == "S" || type == "B") return quoted(value.get_string().value_unsafe());
  if (type == "BOOL") return value.get_bool().value_unsafe() ? "true" : "false";
  if (type == "L") {
    append_list(out, value.get_array().value_unsafe(),
                [](const json::Element& e) { return json_value(e); });
  } else if (type == "M") {
    out = json_item(value);
  } else if (type == "NS") {
    append_list(out, value.get_array().value_unsafe(),
                [](const json::Element& e) { return std::string(e.get_string().value_unsafe()); });
  } else if (type == "SS" || type == "BS") {
    append_list(out, value.get_array().value_unsafe(),
                [](const json::Element& e) { return quoted(e.get_string().value_unsafe()); });
  } else {
    out = "null";
  }
  return out;
}

std::string json_item(const json::Element& item) {
  std::string out;
  json::Object object(out);
  simdjson::dom::object members;
  if (item.get(members) == simdjson::SUCCESS) {
    for (const auto& member : members) object.key(member.key).append(json_value(member.value));
  }
  object.close();
  return out;
}

std::string plain_value(const json::Element& typed) {
  std::string_view type;
  json::Element value;
  if (split(typed, type, value) && (type == "S" || type == "B"))
    return std::string(value.get_string().value_unsafe());
  return json_value(typed);
}

}  // namespace stator::client
