#include "support/wire_case.h"

#include <boost/regex.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "json/writer.h"

namespace stator::testing {

namespace {

void expand_into(std::string& out, const json::Element& element, const std::string& index);

std::string with_index(std::string_view text, const std::string& index) {
  std::string result(text);
  if (index.empty()) return result;
  for (size_t at = result.find("{i}"); at != std::string::npos;
       at = result.find("{i}", at + index.size())) {
    result.replace(at, 3, index);
  }
  return result;
}

int64_t times_of(const json::Element& object) {
  return json::int_member(object, "times").value_or(1);
}

bool expand_generator(std::string& out, const json::Element& element, const std::string& index) {
  if (const auto text = json::string_member(element, "$repeat")) {
    std::string repeated;
    for (int64_t i = 0; i < times_of(element); ++i) repeated.append(*text);
    json::append_quoted(out, with_index(repeated, index));
    return true;
  }
  if (const auto depth = json::int_member(element, "$nest")) {
    for (int64_t i = 0; i < *depth; ++i) out.append("{\"L\":[");
    expand_into(out, *json::member(element, "leaf"), index);
    for (int64_t i = 0; i < *depth; ++i) out.append("]}");
    return true;
  }
  if (const auto inner = json::member(element, "$list")) {
    json::Array array(out);
    for (int64_t i = 0; i < times_of(element); ++i)
      expand_into(array.element(), *inner, std::to_string(i));
    array.close();
    return true;
  }
  return false;
}

void expand_into(std::string& out, const json::Element& element, const std::string& index) {
  switch (element.type()) {
    case json::Kind::OBJECT: {
      if (expand_generator(out, element, index)) return;
      json::Object object(out);
      const json::ObjectElement members = element.get_object();
      for (const auto field : members)
        expand_into(object.key(with_index(field.key, index)), field.value, index);
      object.close();
      return;
    }
    case json::Kind::ARRAY: {
      json::Array array(out);
      const json::ArrayElement elements = element.get_array();
      for (const json::Element child : elements) expand_into(array.element(), child, index);
      array.close();
      return;
    }
    case json::Kind::STRING:
      json::append_quoted(out, with_index(element.get_string().value(), index));
      return;
    default:
      out.append(simdjson::minify(element));
  }
}

bool is_number(const json::Element& element) {
  return element.is_int64() || element.is_uint64() || element.is_double();
}

double number_of(const json::Element& element) {
  if (element.is_int64()) return static_cast<double>(int64_t(element));
  if (element.is_uint64()) return static_cast<double>(uint64_t(element));
  return double(element);
}

std::string differs(const std::string& path, const json::Element& expected,
                    const json::Element& actual) {
  return path + ": expected " + simdjson::minify(expected) + ", got " + simdjson::minify(actual);
}

std::string compare_members(const json::ObjectElement& expected, const json::Element& actual,
                            const std::string& path, bool whole) {
  json::ObjectElement object;
  if (actual.get(object) != simdjson::SUCCESS)
    return path + ": not an object: " + simdjson::minify(actual);
  size_t present = 0;
  for (const auto field : expected) {
    const bool absent = json::bool_member(field.value, "$absent").value_or(false);
    json::Element found;
    const bool there = object.at_key(field.key).get(found) == simdjson::SUCCESS;
    const std::string inner = path + "." + std::string(field.key);
    if (absent) {
      if (there) return inner + ": must not be there";
      continue;
    }
    if (!there) return inner + ": missing in " + simdjson::minify(actual);
    ++present;
    std::string difference_text = difference(field.value, found, inner);
    if (!difference_text.empty()) return difference_text;
  }
  if (whole && object.size() != present)
    return path + ": more members than expected: " + simdjson::minify(actual);
  return {};
}

std::string compare_unordered(const json::ArrayElement& expected, const json::Element& actual,
                              const std::string& path) {
  json::ArrayElement array;
  if (actual.get(array) != simdjson::SUCCESS) return path + ": not an array";
  std::vector<json::Element> left(array.begin(), array.end());
  if (left.size() != expected.size()) return path + ": another length: " + simdjson::minify(actual);
  for (const json::Element wanted : expected) {
    const auto at = std::find_if(left.begin(), left.end(), [&](const json::Element& element) {
      return difference(wanted, element).empty();
    });
    if (at == left.end())
      return path + ": nothing matches " + simdjson::minify(wanted) + " in " +
             simdjson::minify(actual);
    left.erase(at);
  }
  return {};
}

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

Answer execute(Database& database, std::string_view operation, std::string body) {
  const std::string name(operation);
  // The first service that has an operation of that name.
  std::string_view service = "DynamoDB_20120810";
  for (const std::string_view other : {"DynamoDBStreams_20120810", "AnyScaleFrontendService"}) {
    if (!database.knows(service, name) && database.knows(other, name)) service = other;
  }
  return run_blocking(database.execute(service, name, std::move(body), Caller{}));
}

// What a step expects against what came. Empty if it is right.
std::string check_step(const json::Element& step, const Answer& answer) {
  json::Document document;
  if (!document.parse(answer.body)) return "the answer is not JSON: " + answer.body;
  const json::Element body = document.root();
  const auto error = json::string_member(step, "error");
  const int64_t status = json::int_member(step, "status").value_or(error ? 400 : 200);
  if (answer.status != status)
    return "status " + std::to_string(answer.status) + ": " + answer.body;
  if (error) {
    const auto type = json::string_member(body, "__type").value_or("");
    if (type.substr(type.find('#') + 1) != *error) return "another error: " + answer.body;
    if (const auto rest = json::member(step, "response")) {
      // What an error carries beside its type and message.
      const auto part = json::object_member(*rest, "$partial");
      std::string wrong =
          compare_members(part ? *part : json::ObjectElement(*rest), body, "error", false);
      if (!wrong.empty()) return wrong;
    }
    if (const auto message = json::member(step, "message")) {
      auto said = json::member(body, "message");
      if (!said) said = json::member(body, "Message");
      if (!said) {
        std::string_view text;
        const bool empty = message->get(text) == simdjson::SUCCESS && text.empty();
        return empty ? "" : "no message: " + answer.body;
      }
      return difference(*message, *said, "message");
    }
    return {};
  }
  if (const auto response = json::member(step, "response")) {
    json::Document expanded;
    expanded.parse(expand(*response));
    return difference(expanded.root(), body, "response");
  }
  return {};
}

}  // namespace

std::string expand(const json::Element& pattern) {
  std::string out;
  expand_into(out, pattern, "");
  return out;
}

std::string difference(const json::Element& expected, const json::Element& actual,
                       const std::string& path) {
  json::ObjectElement object;
  if (expected.get(object) == simdjson::SUCCESS) {
    if (json::bool_member(expected, "$any").value_or(false)) return {};
    if (const auto pattern = json::string_member(expected, "$regex")) {
      std::string_view text;
      if (actual.get(text) != simdjson::SUCCESS) return path + ": not a string";
      // Not std::regex, which recurses once for each character.
      const boost::regex regex{std::string(*pattern)};
      return boost::regex_match(std::string(text), regex) ? "" : differs(path, expected, actual);
    }
    if (const auto list = json::array_member(expected, "$unordered"))
      return compare_unordered(*list, actual, path);
    if (const auto part = json::object_member(expected, "$partial"))
      return compare_members(*part, actual, path, false);
    return compare_members(object, actual, path, true);
  }
  json::ArrayElement array;
  if (expected.get(array) == simdjson::SUCCESS) {
    json::ArrayElement other;
    if (actual.get(other) != simdjson::SUCCESS || other.size() != array.size())
      return differs(path, expected, actual);
    for (size_t i = 0; i < array.size(); ++i) {
      std::string text = difference(array.at(i).value(), other.at(i).value(),
                                    path + "[" + std::to_string(i) + "]");
      if (!text.empty()) return text;
    }
    return {};
  }
  if (is_number(expected) && is_number(actual)) {
    return number_of(expected) == number_of(actual) ? "" : differs(path, expected, actual);
  }
  return simdjson::minify(expected) == simdjson::minify(actual) ? ""
                                                                : differs(path, expected, actual);
}

WireReport run_wire_file(const std::string& file, Database& database) {
  WireReport report;
  json::Document document;
  if (!document.parse(read_file(file))) {
    report.failures.push_back({file, "not JSON"});
    return report;
  }
  const json::Element root = document.root();
  if (const auto tables = json::array_member(root, "tables")) {
    for (const json::Element table : *tables) {
      const Answer answer = execute(database, "CreateTable", expand(table));
      if (answer.status != 200) report.failures.push_back({"tables", answer.body});
    }
  }
  const auto cases = json::array_member(root, "cases");
  if (!cases) return report;
  for (const json::Element one : *cases) {
    ++report.cases;
    const auto steps = json::array_member(one, "steps");
    if (!steps) continue;
    size_t number = 0;
    for (const json::Element step : *steps) {
      ++number;
      ++report.steps;
      const auto raw = json::string_member(step, "raw");
      const auto request = json::member(step, "request");
      const std::string body = raw ? std::string(*raw) : request ? expand(*request) : "{}";
      const Answer answer = execute(database, json::string_member(step, "op").value_or(""), body);
      const std::string wrong = check_step(step, answer);
      if (wrong.empty()) continue;
      std::string where(json::string_member(one, "name").value_or("?"));
      where += " (step " + std::to_string(number) + ", " + body.substr(0, 400) + ")";
      report.failures.push_back({where, wrong.substr(0, 1200)});
    }
  }
  return report;
}

std::vector<std::string> wire_files(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".json") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace stator::testing
