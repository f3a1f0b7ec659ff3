// echo: values as the toString() of the service's Java classes prints them.
#include <string>

#include "common/base64.h"
#include "ops/shape.h"

namespace stator::ops {

namespace {

using json::Element;

// A dump can be many times longer than what it shows; nobody reads that far.
constexpr size_t kMaxEchoBytes = 1024 * 1024;

void append_lower_first(std::string& out, std::string_view name) {
  if (name.empty()) return;
  out.push_back(name[0] >= 'A' && name[0] <= 'Z' ? static_cast<char>(name[0] - 'A' + 'a')
                                                 : name[0]);
  out.append(name.substr(1));
}

class Echo {
 public:
  std::string take() { return std::move(out_); }

  void value(const Element& element, const Shape& shape) {
    if (out_.size() > kMaxEchoBytes) return;
    if (element.is_null()) {
      out_.append("null");
      return;
    }
    switch (shape.kind) {
      case ShapeKind::kList:
        return list(element, shape);
      case ShapeKind::kMap:
        return map(element, shape);
      case ShapeKind::kStructure:
        return structure(element, shape);
      case ShapeKind::kBlob:
        return blob(element);
      default:
        return scalar(element);
    }
  }

 private:
  void list(const Element& element, const Shape& shape) {
    out_.push_back('[');
    json::ArrayElement array;
    if (element.get(array) == simdjson::SUCCESS) {
      bool first = true;
      for (const Element item : array) {
        if (!first) out_.append(", ");
        first = false;
        value(item, *shape.element);
      }
    }
    out_.push_back(']');
  }

  void map(const Element& element, const Shape& shape) {
    out_.push_back('{');
    json::ObjectElement object;
    if (element.get(object) == simdjson::SUCCESS) {
      bool first = true;
      for (const auto field : object) {
        if (!first) out_.append(", ");
        first = false;
        out_.append(field.key);
        out_.push_back('=');
        value(field.value, *shape.element);
      }
    }
    out_.push_back('}');
  }

  void structure(const Element& element, const Shape& shape) {
    // The service's own class has members that the public model does not.
    static constexpr std::string_view kAttributeValueMembers[] = {
        "S",  "N",      "B",          "INT",       "DECIMAL", "DOUBLE", "SS",   "NS",
        "BS", "INTSET", "DECIMALSET", "DOUBLESET", "M",       "L",      "NULL", "BOOL"};
    out_.append(shape.name);
    out_.push_back('(');
    bool first = true;
    if (shape.name == "AttributeValue") {
      for (const std::string_view name : kAttributeValueMembers)
        member(element, shape, name, first);
    } else {
      for (const Member& known : shape.members) member(element, shape, known.name, first);
      if (shape.name == "PutRequest") member(element, shape, "WorkloadProfileName", first);
    }
    out_.push_back(')');
  }

  void member(const Element& element, const Shape& shape, std::string_view name, bool& first) {
    if (!first) out_.append(", ");
    first = false;
    append_lower_first(out_, name);
    out_.push_back('=');
    for (const Member& known : shape.members) {
      if (known.name != name) continue;
      if (const auto found = json::member(element, name)) return value(*found, *known.shape);
      break;
    }
    out_.append("null");
  }

  void blob(const Element& element) {
    std::string_view text;
    size_t size = 0;
    if (element.get(text) == simdjson::SUCCESS) {
      if (const auto bytes = decode_base64(text)) size = bytes->size();
    }
    const std::string count = std::to_string(size);
    out_.append("java.nio.HeapByteBuffer[pos=0 lim=" + count + " cap=" + count + "]");
  }

  void scalar(const Element& element) {
    std::string_view text;
    if (element.get(text) == simdjson::SUCCESS) {
      out_.append(text.substr(0, kMaxEchoBytes));
    } else if (const auto number = json::to_int(element)) {
      out_.append(std::to_string(*number));
    } else if (const auto truth = json::to_bool(element)) {
      out_.append(*truth ? "true" : "false");
    }
  }

  std::string out_;
};

}  // namespace

std::string echo(const json::Element& element, const Shape& shape) {
  Echo echo;
  echo.value(element, shape);
  return echo.take();
}

}  // namespace stator::ops
