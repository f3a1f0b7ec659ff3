#include "ops/read_request.h"

#include <algorithm>

#include "capacity/units.h"
#include "common/bytes.h"
#include "model/codec.h"
#include "model/key_codec.h"
#include "ops/throttling.h"

namespace stator::ops {

namespace {

// Where a sort value stands among rows with the same prefix, as the bytes that follow the prefix.
std::string sort_bytes(const model::Index* index, const model::Value& value, bool open) {
  std::string bytes;
  if (index != nullptr) {
    model::append_index_sort(bytes, value, open);
  } else {
    model::append_item_sort(bytes, value);
  }
  return bytes;
}

// After every row whose sort value is exactly `value`. A table's row ends with its sort value; an
// index entry goes on with the table's key, so all entries with this prefix are meant.
std::string after_value(const std::string& prefix, const model::Index* index,
                        const model::Value& value) {
  std::string key = prefix + sort_bytes(index, value, false);
  if (index != nullptr) return prefix_end(std::move(key));
  key.push_back('\0');
  return key;
}

}  // namespace

engine::Range key_range(const model::TableSchema& table, const model::Index* index,
                        const expr::KeyCondition& key) {
  std::string prefix;
  if (index != nullptr) {
    std::vector<const model::Value*> partition;
    for (const model::Value& value : key.partition) partition.push_back(&value);
    prefix = model::index_partition_prefix(table.number, index->number, partition);
  } else {
    prefix = model::item_partition_prefix(table.number, key.partition[0]);
  }
  for (size_t i = 0; i < key.sort_equal.size(); ++i) {
    const model::Value& value = key.sort_equal[i];
    if (index == nullptr) {
      // The one row with this key. A longer sort value has this one as a prefix, so the end is just
      // behind it.
      return {prefix + sort_bytes(index, value, false), after_value(prefix, index, value)};
    }
    prefix += sort_bytes(index, value, false);
  }
  const std::string end = prefix_end(prefix);
  if (!key.range) return {prefix, end};
  const auto& values = key.range->values;
  const auto at = [&](size_t i) { return prefix + sort_bytes(index, values[i], false); };
  switch (key.range->op) {
    case expr::KeyOperator::kLess:
      return {prefix, at(0)};
    case expr::KeyOperator::kLessEqual:
      return {prefix, after_value(prefix, index, values[0])};
    case expr::KeyOperator::kGreater:
      return {after_value(prefix, index, values[0]), end};
    case expr::KeyOperator::kGreaterEqual:
      return {at(0), end};
    case expr::KeyOperator::kBetween:
      return {at(0), after_value(prefix, index, values[1])};
    case expr::KeyOperator::kBeginsWith: {
      std::string begin = prefix + sort_bytes(index, values[0], true);
      std::string behind = prefix_end(begin);
      return {std::move(begin), std::move(behind)};
    }
    case expr::KeyOperator::kEqual:
    case expr::KeyOperator::kNotIndexable:
      break;
  }
  return {prefix, end};
}

const model::Index* find_index(const model::TableSchema& table,
                               const std::optional<std::string_view>& name) {
  if (!name) return nullptr;
  const model::Index* index = table.find_index(*name);
  if (index == nullptr)
    invalid("The table does not have the specified index: " + std::string(*name));
  if (index->building)
    invalid("Cannot read from backfilling global secondary index: " + index->name);
  return index;
}

void check_select(const json::Element& body) {
  const auto select = json::string_member(body, "Select");
  if (!select) return;
  const bool projects = json::member(body, "ProjectionExpression").has_value();
  const bool legacy = json::member(body, "AttributesToGet").has_value();
  if (*select == "SPECIFIC_ATTRIBUTES") {
    if (projects || legacy) return;
    invalid(
        "Must specify the AttributesToGet or ProjectionExpression when choosing to get "
        "SPECIFIC_ATTRIBUTES");
  }
  if (projects || legacy) {
    const std::string parameter = projects ? "ProjectionExpression" : "AttributesToGet";
    if (*select == "COUNT")
      invalid("Cannot specify the " + parameter + " when choosing to get only the Count");
    invalid("Cannot specify the " + parameter + " when choosing to get " + std::string(*select));
  }
  if (*select == "ALL_PROJECTED_ATTRIBUTES" && !json::member(body, "IndexName")) {
    invalid("ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName");
  }
}

void apply_select(const json::Element& body, PageRequest& request) {
  const auto select = json::string_member(body, "Select");
  request.count_only = select == "COUNT";
  const model::Index* index = request.index;
  if (index == nullptr || index->projects_all()) return;
  if (select == "ALL_ATTRIBUTES") {
    if (index->global) {
      invalid(
          "One or more parameter values were invalid: Select type ALL_ATTRIBUTES is not supported "
          "for global "
          "secondary index " +
          index->name + " because its projection type is not ALL");
    }
    request.plan.fetch_items = true;
    return;
  }
  std::vector<std::string> missing;
  const auto need = [&](const std::string& attribute) {
    if (index->projects(attribute)) return;
    if (std::find(missing.begin(), missing.end(), attribute) == missing.end())
      missing.push_back(attribute);
  };
  if (request.projection) {
    for (const std::string& name : request.projection->top_level_names()) need(name);
  }
  if (request.filter) {
    expr::for_each_path(*request.filter, [&](const expr::Path& path) { need(path.attribute()); });
  }
  if (missing.empty()) return;
  if (index->global) {
    std::string list;
    for (const std::string& name : missing) list += (list.empty() ? "" : ", ") + name;
    invalid("One or more parameter values were invalid: Global secondary index " + index->name +
            " does not project [" + list + "]");
  }
  // A local index reads what it does not hold from the table. Without a projection of their own,
  // answers still have only what the index projects.
  request.plan.fetch_items = true;
  if (!request.projection) {
    std::vector<expr::Path> paths;
    for (const std::string& name : index->projected) paths.emplace_back(name);
    request.projection = expr::Projection(std::move(paths));
  }
}

std::optional<model::Item> read_start_key(const json::Element& body, expr::Wording wording) {
  const auto element = json::member(body, "ExclusiveStartKey");
  if (!element) return std::nullopt;
  try {
    return read_item(*element, wording);
  } catch (const ApiError& error) {
    const std::string& message = error.message();
    const auto mentions = [&](std::string_view text) {
      return message.find(text) != std::string::npos;
    };
    if (error.type() != "ValidationException" || mentions("contains duplicates") ||
        mentions("number set") || mentions("numeric value") || mentions("Number ") ||
        mentions("significant digits")) {
      throw;
    }
    invalid("The provided starting key is invalid: " + message);
  }
}

void check_start_key(const PageRequest& request, const model::Item& key, bool scan) {
  const model::TableSchema& table = *request.table->schema;
  size_t expected = table.key.size();
  bool names_match = true;
  for (size_t i = 0; i < table.key.size(); ++i)
    names_match = names_match && key.contains(table.key.at(i).name);
  if (request.index != nullptr) {
    for (size_t i = 0; i < request.index->key.size(); ++i) {
      const std::string& name = request.index->key.at(i).name;
      names_match = names_match && key.contains(name);
      if (!table.key.position(name)) ++expected;
    }
  }
  if (!names_match || key.size() != expected) {
    invalid(scan && request.index == nullptr ? "The provided starting key is invalid: The provided "
                                               "key element does not match the schema"
                                             : "The provided starting key is invalid");
  }
  const auto check_types = [&](const model::KeySchema& schema, std::string_view message) {
    for (size_t i = 0; i < schema.size(); ++i) {
      const model::KeyAttribute& attribute = schema.at(i);
      if (key.find(attribute.name)->type() != model::value_type(attribute.type))
        invalid(std::string(message));
    }
  };
  if (request.index != nullptr)
    check_types(request.index->key, "The provided key element does not match the schema");
  check_types(
      table.key,
      "The provided starting key is invalid: The provided key element does not match the schema");
  check_key_values(table.key, key);
}

std::string start_row(const PageRequest& request, const model::Item& key) {
  const model::TableSchema& table = *request.table->schema;
  if (request.index == nullptr) return model::item_key(table, key);
  return model::index_entry_key(table, *request.index, key).value_or(std::string());
}

void begin_after(store::ReadPlan& plan, const std::string& row) {
  if (plan.direction == engine::Direction::kForward) {
    std::string next = row;
    next.push_back('\0');
    if (next > plan.range.begin) plan.range.begin = std::move(next);
  } else if (row < plan.range.end) {
    plan.range.end = row;
  }
}

Task<Page> read_page(const Context& context, PageRequest request) {
  Page page;
  const bool whole = !request.projection && !request.show;
  const auto visit = [&](const store::Found& found) {
    std::optional<model::Item> item;
    if (request.filter) {
      item = model::decode_item(found.encoded);
      if (!expr::evaluate(*request.filter, *item)) return;
    }
    page.count += 1;
    if (request.count_only) return;
    if (page.count > 1) page.items.push_back(',');
    if (whole) {
      append_encoded_item(page.items, found.encoded);
      return;
    }
    if (!item) item = model::decode_item(found.encoded);
    if (request.show) {
      request.show(page.items, *item);
      return;
    }
    append_item(page.items, expr::project(*request.projection, *item));
  };
  store::ReadPlan plan = request.plan;
  plan.table = request.table;
  plan.index = request.index;
  const AdmittedRead admitted =
      admit_page(context, plan, capacity::read_units(0, request.consistent));
  if (admitted.refused) throw ApiError(*admitted.refused);
  auto pending = context.store.read(std::move(plan), visit);
  const store::PageEnd end = co_await pending;
  page.scanned = end.scanned;
  page.size_bytes = end.size_bytes;
  const model::TableSchema& table = *request.table->schema;
  if (end.more) {
    const model::Item last = model::decode_record(end.last_record);
    page.last_key = model::key_of(table.key, last);
    if (request.index != nullptr) {
      for (size_t i = 0; i < request.index->key.size(); ++i) {
        const std::string& name = request.index->key.at(i).name;
        if (const model::Value* value = last.find(name)) page.last_key->set(name, *value);
      }
    }
  }
  const double units = capacity::read_units(end.size_bytes, request.consistent);
  if (request.index != nullptr) {
    page.index_units = units;
    page.table_units = end.fetch_units * (request.consistent ? 1.0 : 0.5);
  } else {
    page.table_units = units;
  }
  settle_read(context, *request.table, admitted, page.table_units + page.index_units);
  co_return page;
}

std::string page_answer(const Request& request, const PageRequest& page_request, const Page& page) {
  const model::TableSchema& table = *page_request.table->schema;
  std::string out;
  out.reserve(page.items.size() + 128);
  json::Object answer(out);
  if (!page_request.count_only) {
    answer.key("Items").push_back('[');
    out.append(page.items);
    out.push_back(']');
  }
  answer.integer("Count", static_cast<int64_t>(page.count));
  answer.integer("ScannedCount", static_cast<int64_t>(page.scanned));
  if (page.last_key) append_item(answer.key("LastEvaluatedKey"), *page.last_key);
  Consumed consumed{
      std::string(*json::string_member(request.body, "TableName")), page.table_units, {}, &table};
  if (page_request.index != nullptr) {
    consumed.indexes.assign(table.indexes.size(), 0);
    consumed.indexes[static_cast<size_t>(page_request.index - table.indexes.data())] =
        page.index_units;
  }
  append_capacity(answer, capacity_mode(request.body), consumed);
  answer.close();
  return out;
}

}  // namespace stator::ops
