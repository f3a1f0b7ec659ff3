#include "moving/typed_json.h"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "json/writer.h"

namespace stator::moving {

namespace {

// Writes plain JSON anew with types. Texts and numbers are copied as they are written, so that no
// digit is lost; a document model would make doubles of them.
class Typer {
 public:
  explicit Typer(std::string_view in) : in_(in) {}

  std::string item() {
    skip_space();
    append_map(0);
    skip_space();
    if (at_ < in_.size()) fail("text follows the object");
    return std::move(out_);
  }

 private:
  static constexpr int kMostLevels = 64;

  [[noreturn]] void fail(std::string_view what) const {
    throw std::runtime_error("not a JSON object: " + std::string(what) + " at byte " +
                             std::to_string(at_));
  }
  char peek() const { return at_ < in_.size() ? in_[at_] : '\0'; }
  void skip_space() {
    while (at_ < in_.size() &&
           (in_[at_] == ' ' || in_[at_] == '\t' || in_[at_] == '\n' || in_[at_] == '\r'))
      ++at_;
  }
  void expect(char c) {
    skip_space();
    if (peek() != c) fail(std::string("no ") + c);
    ++at_;
    skip_space();
  }

  // A text with its quotes. The escapes in it are looked at by whoever reads the result.
  std::string_view text() {
    const size_t begin = at_;
    if (peek() != '"') fail("no text");
    for (++at_; peek() != '"'; ++at_) {
      if (at_ >= in_.size() || static_cast<unsigned char>(in_[at_]) < 0x20)
        fail("a text does not end");
      if (in_[at_] == '\\') ++at_;
    }
    ++at_;
    return in_.substr(begin, at_ - begin);
  }

  void digits() {
    const size_t begin = at_;
    while (peek() >= '0' && peek() <= '9') ++at_;
    if (at_ == begin) fail("no digit");
  }
  std::string_view number() {
    const size_t begin = at_;
    if (peek() == '-') ++at_;
    digits();
    if (peek() == '.') {
      ++at_;
      digits();
    }
    if (peek() == 'e' || peek() == 'E') {
      ++at_;
      if (peek() == '+' || peek() == '-') ++at_;
      digits();
    }
    return in_.substr(begin, at_ - begin);
  }

  bool word(std::string_view word) {
    if (in_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  void append_map(int level) {
    if (level > kMostLevels) fail("too many levels");
    expect('{');
    out_.push_back('{');
    for (bool first = true; peek() != '}'; first = false) {
      if (!first) {
        expect(',');
        out_.push_back(',');
      }
      out_.append(text());
      expect(':');
      out_.push_back(':');
      append_value(level);
      skip_space();
    }
    ++at_;
    out_.push_back('}');
  }

  void append_list(int level) {
    if (level > kMostLevels) fail("too many levels");
    expect('[');
    out_.push_back('[');
    for (bool first = true; peek() != ']'; first = false) {
      if (!first) {
        expect(',');
        out_.push_back(',');
      }
      append_value(level);
      skip_space();
    }
    ++at_;
    out_.push_back(']');
  }

  void append_value(int level) {
    const char c = peek();
    if (c == '"') {
      out_.append(R"({"S":)").append(text());
    } else if (c == '{') {
      out_.append(R"({"M":)");
      append_map(level + 1);
    } else if (c == '[') {
      out_.append(R"({"L":)");
      append_list(level + 1);
    } else if (word("true")) {
      out_.append(R"({"BOOL":true)");
    } else if (word("false")) {
      out_.append(R"({"BOOL":false)");
    } else if (word("null")) {
      out_.append(R"({"NULL":true)");
    } else {
      out_.append(R"({"N":")").append(number()).push_back('"');
    }
    out_.push_back('}');
  }

  const std::string_view in_;
  size_t at_ = 0;
  std::string out_;
};

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
  return Typer(plain).item();
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
