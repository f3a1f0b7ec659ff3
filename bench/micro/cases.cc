#include "cases.h"

#include <benchmark/benchmark.h>

#include <memory>
#include <stdexcept>
#include <string_view>

#include "expr/expr.h"
#include "json/reader.h"
#include "model/codec.h"
#include "model/key_codec.h"
#include "ops/value_json.h"

namespace stator::bench {

namespace {

using benchmark::DoNotOptimize;

// About 200 bytes, as the items of bench/workloads.py.
constexpr std::string_view kItem =
    R"({"pk":{"S":"user#00004711"},"status":{"S":"open"},"count":{"N":"123456"},)"
    R"("payload":{"S":"aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hI6kL9nO2qR5tU8wX1zA4cD7fG0iJ3lM6oP9r)"
    R"(S2uV5xY8aB1dE4gH7jK0mN3pQ6sT9vW2yZ5bC8eF1hI4kL7nO0qR3tU6wX9zA2cD5f"}})";
// Of many types, nested.
constexpr std::string_view kDocument =
    R"({"pk":{"S":"order#1"},"sk":{"S":"2026-11-15"},"total":{"N":"129.95"},"paid":{"BOOL":true},)"
    R"("note":{"NULL":true},"tags":{"SS":["new","gift","express"]},"scores":{"NS":["1","2.5","-3"]},)"
    R"("blob":{"B":"AAECAwQFBgcICQ=="},"lines":{"L":[{"M":{"sku":{"S":"A-1"},"n":{"N":"2"}}},)"
    R"({"M":{"sku":{"S":"B-2"},"n":{"N":"1"}}}]},"address":{"M":{"city":{"S":"Graz"},"zip":{"N":"8010"}}}})";

model::Item read(std::string_view text) {
  json::Document document;
  if (!document.parse(std::string(text))) throw std::logic_error("a case is no JSON");
  return ops::read_item(document.root(), expr::Wording::kCurrent);
}

model::TableSchema schema(bool sort) {
  model::TableSchema table;
  table.number = 7;
  table.name = "Bench";
  table.key.partition.push_back({"pk", model::KeyType::kString});
  if (sort) table.key.sort.push_back({"sk", model::KeyType::kString});
  return table;
}

std::function<void()> encode(std::string_view text) {
  return [item = read(text)] {
    DoNotOptimize(
        model::encode_record(item, {.size_bytes = 200, .written_us = 1'700'000'000'000'000}));
  };
}

std::function<void()> decode(std::string_view text) {
  return [record = model::encode_record(read(text), {.size_bytes = 200})] {
    DoNotOptimize(model::decode_record(record));
  };
}

std::function<void()> parse_number(std::string text) {
  return [text = std::move(text)] { DoNotOptimize(model::Number::parse(text)); };
}

expr::Bindings bindings() {
  expr::Bindings::Values values;
  values.emplace_back(":zero", model::Value::number(model::Number::from_int(0)));
  values.emplace_back(":open", model::Value::string("open"));
  return {expr::Bindings::Names{{"#c", "count"}}, std::move(values)};
}

constexpr std::string_view kBound =
    "attribute_exists(pk) AND #c >= :zero AND begins_with(pk, :open)";

std::vector<Case> make_cases() {
  using Values = expr::Bindings::Values;
  return {
      {"codec/encode 200 B", [] { return encode(kItem); }},
      {"codec/encode nested", [] { return encode(kDocument); }},
      {"codec/decode 200 B", [] { return decode(kItem); }},
      {"codec/decode nested", [] { return decode(kDocument); }},
      {"number/parse 6 digits", [] { return parse_number("123456"); }},
      {"number/parse 38 digits",
       [] { return parse_number("-12345678901234567890.123456789012345678e-7"); }},
      {"number/print",
       [] {
         return [number = *model::Number::parse("129.95")] { DoNotOptimize(number.to_string()); };
       }},
      {"number/add",
       [] {
         return [a = *model::Number::parse("129.95"), b = model::Number::from_int(1)] {
           DoNotOptimize(model::Number::add(a, b));
         };
       }},
      {"number/encode ordered",
       [] {
         return [number = *model::Number::parse("-129.95")] {
           std::string out;
           number.encode_ordered(out);
           DoNotOptimize(out);
         };
       }},
      {"key/item",
       [] {
         return [table = schema(false), item = read(kItem)] {
           DoNotOptimize(model::item_key(table, item));
         };
       }},
      {"key/item with sort",
       [] {
         return [table = schema(true), item = read(kDocument)] {
           DoNotOptimize(model::item_key(table, item));
         };
       }},
      {"expression/parse condition",
       [] {
         return [] {
           expr::ParseCache cache;
           auto given = bindings();
           DoNotOptimize(
               expr::bind_condition(kBound, expr::ExpressionKind::kCondition, given, cache));
         };
       }},
      {"expression/bind cached condition",
       [] {
         return [cache = std::make_shared<expr::ParseCache>()] {
           auto given = bindings();
           DoNotOptimize(
               expr::bind_condition(kBound, expr::ExpressionKind::kCondition, given, *cache));
         };
       }},
      {"expression/evaluate condition",
       [] {
         expr::ParseCache cache;
         auto given = bindings();
         auto condition = std::make_shared<expr::Condition>(
             expr::bind_condition(kBound, expr::ExpressionKind::kCondition, given, cache));
         return
             [condition, item = read(kItem)] { DoNotOptimize(expr::evaluate(*condition, item)); };
       }},
      {"expression/apply update",
       [] {
         expr::ParseCache cache;
         expr::Bindings given(std::nullopt,
                              Values{{":one", model::Value::number(model::Number::from_int(1))}});
         auto update = std::make_shared<expr::Update>(
             expr::bind_update("ADD hits :one SET seen = :one", given, cache));
         return [update, item = read(kItem)] { DoNotOptimize(update->apply(&item, item)); };
       }},
      {"json/read item 200 B", [] { return [] { DoNotOptimize(read(kItem)); }; }},
      {"json/read item nested", [] { return [] { DoNotOptimize(read(kDocument)); }; }},
      {"json/write item 200 B",
       [] {
         return [encoded = model::encode_item(read(kItem))] {
           std::string out;
           ops::append_encoded_item(out, encoded);
           DoNotOptimize(out);
         };
       }},
      {"json/write item nested",
       [] {
         return [encoded = model::encode_item(read(kDocument))] {
           std::string out;
           ops::append_encoded_item(out, encoded);
           DoNotOptimize(out);
         };
       }},
  };
}

}  // namespace

const std::vector<Case>& cases() {
  static const std::vector<Case> all = make_cases();
  return all;
}

}  // namespace stator::bench
