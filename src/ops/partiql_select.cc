#include "ops/partiql_select.h"

#include <algorithm>
#include <utility>

#include "common/base64.h"
#include "common/bytes.h"
#include "common/md5.h"
#include "model/codec.h"
#include "model/key_codec.h"
#include "ops/partiql_run.h"

namespace stator::ops {

namespace {

constexpr char kTokenVersion = 1;
constexpr size_t kChecksumBytes = 8;
// Documented: an IN is answered in pages of up to ten items.
constexpr size_t kMaxRowsOfIn = 10;

bool is_empty(const engine::Range& range) {
  return range.begin >= range.end;
}

const model::KeySchema& key_of_read(const model::TableSchema& table, const model::Index* index) {
  return index != nullptr ? index->key : table.key;
}

// What is left of a partition by all sort clauses of a branch.
SelectRange branch_range(const partiql::Branch& branch, const model::TableSchema& table,
                         const model::Index* index) {
  const model::KeySchema& key = key_of_read(table, index);
  SelectRange result;
  result.partition = *branch.partition.values[0];
  result.range = key_range(table, index, expr::match_key({branch.partition}, key));
  for (const expr::KeyClause& clause : branch.sort) {
    const engine::Range part =
        key_range(table, index, expr::match_key({branch.partition, clause}, key));
    result.range.begin = std::max(result.range.begin, part.begin);
    result.range.end = std::min(result.range.end, part.end);
    if (index == nullptr && clause.op == expr::KeyOperator::kEqual) {
      result.item.emplace();
      result.item->set(key.partition[0].name, result.partition);
      result.item->set(key.sort[0].name, *clause.values[0]);
    }
  }
  if (index == nullptr && key.sort.empty()) {
    result.item.emplace();
    result.item->set(key.partition[0].name, result.partition);
  }
  return result;
}

// Lists names as the service does, which keeps them in a Java HashSet: by bucket, then in order of
// insertion.
std::string list_as_hash_set(const std::vector<std::string>& names) {
  size_t buckets = 16;
  while (names.size() * 4 > buckets * 3) buckets *= 2;
  const auto bucket_of = [buckets](const std::string& name) {
    uint32_t hash = 0;
    for (const char c : name) hash = hash * 31 + static_cast<unsigned char>(c);
    return (hash ^ (hash >> 16)) & (buckets - 1);
  };
  std::vector<std::string> sorted = names;
  std::stable_sort(sorted.begin(), sorted.end(), [&](const std::string& a, const std::string& b) {
    return bucket_of(a) < bucket_of(b);
  });
  std::string text;
  for (const std::string& name : sorted) text += (text.empty() ? "" : ", ") + name;
  return text;
}

void add_once(std::vector<std::string>& names, const std::string& name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

// A read by key does not filter on what the index does not hold, unless some branch does without.
void check_filter_projection(const partiql::ReadKeys& keys, const model::Index& index) {
  std::vector<std::string> missing;
  for (const partiql::Branch& branch : keys.branches) {
    missing.clear();
    for (const expr::Condition* filter : branch.filters) {
      expr::for_each_path(*filter, [&](const expr::Path& path) {
        if (!index.projects(path.attribute())) add_once(missing, path.attribute());
      });
    }
    if (missing.empty()) return;
  }
  if (missing.empty()) return;
  invalid("One or more parameter values were invalid: Secondary index " + index.name +
          " does not project one or more filter attributes: [" + list_as_hash_set(missing) + "]");
}

// Columns that the index does not hold: read from the table for a local index, refused for a global
// one.
void apply_projection(const std::vector<partiql::Column>& columns, PageRequest& page) {
  const model::Index& index = *page.index;
  std::vector<std::string> missing;
  for (const partiql::Column& column : columns) {
    if (!index.projects(column.path.attribute())) add_once(missing, column.path.attribute());
  }
  if (missing.empty()) return;
  if (!index.global) {
    page.plan.fetch_items = true;
    return;
  }
  std::string list;
  for (const std::string& name : missing) list += (list.empty() ? "" : ", ") + name;
  invalid("One or more parameter values were invalid: Global secondary index " + index.name +
          " does not project [" + list + "]");
}

std::string checksum(std::string_view payload) {
  const auto digest = md5({"NextToken", payload});
  return {reinterpret_cast<const char*>(digest.data()), kChecksumBytes};
}

[[noreturn]] void invalid_token() {
  invalid("Invalid NextToken");
}

}  // namespace

std::vector<SelectRange> select_ranges(const partiql::ReadKeys& keys,
                                       const model::TableSchema& table, const model::Index* index) {
  std::vector<SelectRange> ranges;
  bool union_of_branches = false;
  for (const partiql::Branch& branch : keys.branches) {
    union_of_branches = union_of_branches || branch.negates_sort;
    SelectRange range = branch_range(branch, table, index);
    if (!branch.contradictory && !is_empty(range.range)) ranges.push_back(std::move(range));
  }
  std::stable_sort(ranges.begin(), ranges.end(), [](const SelectRange& a, const SelectRange& b) {
    const auto order = model::compare_scalars(a.partition, b.partition);
    return order != 0 ? order < 0 : a.range.begin < b.range.begin;
  });
  std::vector<SelectRange> merged;
  for (SelectRange& range : ranges) {
    const bool overlaps = !merged.empty() && merged.back().partition == range.partition &&
                          range.range.begin < merged.back().range.end;
    if (!overlaps) {
      merged.push_back(std::move(range));
      continue;
    }
    if (!union_of_branches)
      invalid("Overlapping conditions with range keys are not supported in where clause");
    SelectRange& last = merged.back();
    if (range.range.end > last.range.end) {
      last.range.end = std::move(range.range.end);
      last.item.reset();
    }
  }
  return merged;
}

SelectPlan plan_select(const Context& context, const partiql::Select& select, bool consistent) {
  SelectPlan plan;
  PageRequest& page = plan.page;
  page.table = active_table(context, select.from.table);
  const model::TableSchema& table = *page.table->schema;
  if (select.from.index) {
    page.index = table.find_index(*select.from.index);
    if (page.index == nullptr) invalid("The table does not have the specified index");
    if (page.index->global && consistent) {
      invalid("Strongly consistent read is not supported on Global Secondary Indexes");
    }
  }
  page.consistent = consistent;
  page.filter = select.where;
  if (select.columns) {
    page.show = [columns = *select.columns](std::string& out, const model::Item& item) {
      append_item(out, select_columns(columns, item));
    };
    if (page.index != nullptr) apply_projection(*select.columns, page);
  }
  const model::KeySchema& key = key_of_read(table, page.index);
  const partiql::ReadKeys keys = partiql::plan_read(select.where, key);
  const partiql::ReadOrder order = partiql::plan_order(select.order, keys, key);
  if (keys.scan) {
    const std::string prefix = page.index != nullptr
                                   ? model::index_prefix(table.number, page.index->number)
                                   : model::items_prefix(table.number);
    SelectRange everything;
    everything.range = {prefix, prefix_end(prefix)};
    plan.ranges.push_back(std::move(everything));
    return plan;
  }
  plan.ranges = select_ranges(keys, table, page.index);
  if (page.index != nullptr) check_filter_projection(keys, *page.index);
  if (keys.from_in) plan.max_rows = kMaxRowsOfIn;
  if (order.sort_descending) page.plan.direction = engine::Direction::kBackward;
  if (order.sort_descending || order.partitions_descending) {
    std::stable_sort(plan.ranges.begin(), plan.ranges.end(),
                     [&](const SelectRange& a, const SelectRange& b) {
                       const auto by_partition = model::compare_scalars(a.partition, b.partition);
                       if (by_partition != 0)
                         return order.partitions_descending ? by_partition > 0 : by_partition < 0;
                       return order.sort_descending ? a.range.begin > b.range.begin
                                                    : a.range.begin < b.range.begin;
                     });
  }
  return plan;
}

Task<SelectPage> read_select(const Context& context, SelectPlan plan, std::optional<size_t> limit,
                             SelectPosition start) {
  SelectPage result;
  std::optional<size_t> rows_left = limit;
  if (plan.max_rows) rows_left = std::min(rows_left.value_or(*plan.max_rows), *plan.max_rows);
  size_t size_bytes = 0;
  for (size_t i = start.range; i < plan.ranges.size(); ++i) {
    const SelectRange& range = plan.ranges[i];
    if (i > start.range && (rows_left == 0u || size_bytes >= store::kMaxPageBytes)) {
      result.next = SelectPosition{i, std::nullopt};
      break;
    }
    PageRequest request = plan.page;
    request.plan.range = range.range;
    // One item is got, not searched for, and there is no more of it.
    if (!range.item) request.plan.limit = rows_left;
    if (i == start.range && start.after)
      begin_after(request.plan, start_row(request, *start.after));
    auto pending = read_page(context, std::move(request));
    Page page = co_await pending;
    if (!result.items.empty() && !page.items.empty()) result.items.push_back(',');
    result.items.append(page.items);
    result.table_units += page.table_units;
    result.index_units += page.index_units;
    size_bytes += page.size_bytes;
    if (rows_left) *rows_left -= std::min(*rows_left, page.scanned);
    if (page.last_key) {
      result.next = SelectPosition{i, page.last_key};
      result.last_key = std::move(page.last_key);
      break;
    }
    if (range.item) result.last_key = range.item;
  }
  if (!result.next) result.last_key.reset();
  co_return result;
}

std::string request_digest(std::string_view statement,
                           const std::vector<model::Value>& parameters) {
  std::string encoded;
  for (const model::Value& value : parameters) model::encode_value(value, encoded);
  std::string length;
  append_varint(length, statement.size());
  const auto digest = md5({length, statement, encoded});
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

std::string write_next_token(const SelectPosition& position, const std::string& digest) {
  std::string payload(1, kTokenVersion);
  append_string(payload, digest);
  append_varint(payload, position.range);
  if (position.after) model::encode_value(model::Value::map(*position.after), payload);
  std::string token;
  append_base64(token, checksum(payload) + payload);
  return token;
}

SelectPosition read_next_token(std::string_view token, const std::string& digest,
                               const SelectPlan& plan) {
  const auto bytes = decode_base64(token);
  if (!bytes || bytes->size() <= kChecksumBytes) invalid_token();
  std::string_view payload = *bytes;
  const std::string_view sum = read_bytes(payload, kChecksumBytes);
  if (sum != checksum(payload) || payload.front() != kTokenVersion) invalid_token();
  payload.remove_prefix(1);
  SelectPosition position;
  try {
    if (read_string(payload) != digest) invalid("NextToken does not match request");
    position.range = read_varint(payload);
    if (!payload.empty()) {
      const model::Value after = model::decode_value(payload);
      if (!after.is(model::Type::kMap) || !payload.empty()) invalid_token();
      position.after = after.as_map();
    }
  } catch (const CorruptRecord&) {
    invalid_token();
  }
  if (position.range >= plan.ranges.size()) invalid_token();
  if (position.after) {
    try {
      check_start_key(plan.page, *position.after);
    } catch (const ApiError&) {
      invalid_token();
    }
  }
  return position;
}

}  // namespace stator::ops
