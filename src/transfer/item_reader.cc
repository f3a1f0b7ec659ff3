#include "transfer/item_reader.h"

#include <algorithm>

#include "common/base64.h"
#include "json/reader.h"
#include "model/error.h"
#include "ops/item_request.h"
#include "ops/operation.h"
#include "ops/value_json.h"
#include "store/store.h"

namespace stator::transfer {

namespace {

constexpr expr::Wording kWording = expr::Wording::kOlder;

// What PutItem would say of the item.
void check_item(const model::TableSchema& schema, const model::Item& item, size_t size_bytes) {
  ops::check_item_keys(schema, item);
  if (size_bytes > store::kMaxItemBytes) {
    invalid("Item size has exceeded the maximum allowed size");
  }
  store::check_index_keys(schema, item);
}

ItemReader::Next checked(const model::TableSchema& schema, model::Item item) {
  ItemReader::Next next;
  next.size_bytes = model::size_bytes(item);
  check_item(schema, item, next.size_bytes);
  next.item = std::move(item);
  return next;
}

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

// Lines of {"Item": {...}}, as exports have them.
class DynamoJson final : public ItemReader {
 public:
  DynamoJson(ByteSource& source, const model::TableSchema& schema)
      : source_(source),
        lines_(source),
        schema_(schema),
        put_shape_(ops::find_operation("DynamoDB_20120810", "PutItem")->shape) {}

  std::optional<Next> next() override {
    for (;;) {
      const auto line = lines_.next();
      if (!line) return std::nullopt;
      ++number_;
      if (!is_blank(*line)) return read(*line);
    }
  }
  uint64_t consumed_bytes() const override { return lines_.consumed_bytes(); }

 private:
  Next read(std::string_view line) {
    // The service does not look at the rest of an object behind a line that is no item at all.
    if (!document_.parse(std::string(line))) throw damaged("is not JSON");
    const auto item = json::member(document_.root(), "Item");
    if (!item || !item->is_object()) throw damaged("has no Item");
    try {
      ops::check_types(document_.root(), *put_shape_);
      return checked(schema_, ops::read_item(*item, kWording));
    } catch (const ApiError& error) {
      Next bad;
      bad.error = error.message().empty() ? error.type() : error.message();
      return bad;
    }
  }
  DamagedObject damaged(std::string_view what) const {
    return DamagedObject(source_.name() + ": line " + std::to_string(number_) + " " +
                         std::string(what));
  }

  ByteSource& source_;
  LineReader lines_;
  const model::TableSchema& schema_;
  const ops::Shape* put_shape_;
  json::Document document_;
  uint64_t number_ = 0;
};

// All attributes are strings, but those that are keys somewhere.
class Csv final : public ItemReader {
 public:
  Csv(ByteSource& source, const ImportFormat& format, const model::TableSchema& schema,
      const std::vector<model::KeyAttribute>& definitions)
      : source_(source),
        records_(source, format.delimiter),
        header_(format.header),
        schema_(schema),
        definitions_(definitions) {}

  std::optional<Next> next() override {
    if (header_.empty() && !read_header()) return std::nullopt;
    if (!records_.next(fields_)) return std::nullopt;
    try {
      return read();
    } catch (const ApiError& error) {
      Next bad;
      bad.error = error.message();
      return bad;
    }
  }
  uint64_t consumed_bytes() const override { return records_.consumed_bytes(); }

 private:
  bool read_header() {
    if (!records_.next(header_)) return false;
    // Excel and its kin begin a file with this mark.
    constexpr std::string_view kMark = "\xEF\xBB\xBF";
    if (header_[0].starts_with(kMark)) header_[0].erase(0, kMark.size());
    std::vector<std::string> sorted = header_;
    std::sort(sorted.begin(), sorted.end());
    if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
      throw DamagedObject(source_.name() + ": a column of the header comes twice");
    }
    if (sorted.front().empty()) {
      throw DamagedObject(source_.name() + ": a column of the header has no name");
    }
    return true;
  }

  Next read() {
    if (fields_.size() != header_.size()) {
      invalid("The number of fields in the record (" + std::to_string(fields_.size()) +
              ") does not match the number of columns in the header (" +
              std::to_string(header_.size()) + ")");
    }
    model::Item item;
    for (size_t i = 0; i < fields_.size(); ++i) {
      item.set(header_[i], value_of(header_[i], std::move(fields_[i])));
    }
    return checked(schema_, std::move(item));
  }

  model::Value value_of(const std::string& name, std::string text) const {
    if (!simdjson::validate_utf8(text)) invalid("The value of " + name + " is not valid UTF-8");
    const auto found = std::find_if(definitions_.begin(), definitions_.end(),
                                    [&](const auto& key) { return key.name == name; });
    if (found == definitions_.end() || found->type == model::KeyType::kString) {
      return model::Value::string(std::move(text));
    }
    if (found->type == model::KeyType::kBinary) {
      auto bytes = decode_base64(text);
      if (!bytes) invalid("The value of " + name + " is not valid base64: " + text);
      return model::Value::binary(std::move(*bytes));
    }
    const auto number = model::Number::parse(text);
    if (!number) {
      invalid("The parameter cannot be converted to a numeric value: " + text);
    }
    return model::Value::number(*number);
  }

  ByteSource& source_;
  CsvReader records_;
  std::vector<std::string> header_;
  std::vector<std::string> fields_;
  const model::TableSchema& schema_;
  const std::vector<model::KeyAttribute>& definitions_;
};

}  // namespace

std::unique_ptr<ItemReader> open_items(ByteSource& source, const ImportFormat& format,
                                       const model::TableSchema& schema,
                                       const std::vector<model::KeyAttribute>& definitions) {
  if (format.kind == ImportFormat::Kind::kCsv) {
    return std::make_unique<Csv>(source, format, schema, definitions);
  }
  return std::make_unique<DynamoJson>(source, schema);
}

}  // namespace stator::transfer
