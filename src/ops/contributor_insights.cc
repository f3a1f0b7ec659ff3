#include <algorithm>
#include <array>

#include "common/base64.h"
#include "json/writer.h"
#include "model/codec.h"
#include "ops/contributor_insights.h"
#include "ops/operation.h"
#include "ops/table_description.h"
#include "ops/table_request.h"
#include "ops/value_json.h"

namespace stator::ops {

namespace {

constexpr std::array<std::string_view, 1> kCheckedHere = {"IndexName"};
constexpr size_t kMinIndexName = 3;
constexpr size_t kMaxIndexName = 255;
constexpr size_t kMostOnPage = 100;
constexpr size_t kKeysInReport = 10;

using catalog::InsightsSettings;

std::string_view mode_name(const InsightsSettings& settings) {
  return settings.throttled_only ? "THROTTLED_KEYS" : "ACCESSED_AND_THROTTLED_KEYS";
}

bool is_changing(const Context& context, const InsightsSettings& settings) {
  return context.clock.now_ms() < settings.changed_ms + context.catalog.options().table_delay_ms;
}

std::string_view status_name(const Context& context, const InsightsSettings& settings) {
  if (is_changing(context, settings)) return settings.enabled ? "ENABLING" : "DISABLING";
  return settings.enabled ? "ENABLED" : "DISABLED";
}

std::optional<std::string> index_name_of(const Request& request) {
  const auto name = json::string_member(request.body, "IndexName");
  if (!name) return std::nullopt;
  if (name->size() < kMinIndexName || name->size() > kMaxIndexName) {
    invalid("IndexName must be at least 3 characters long and at most 255 characters long");
  }
  return std::string(*name);
}

// Only global indexes have insights, once they are built.
const model::Index* find_index(const catalog::Table& table,
                               const std::optional<std::string>& name) {
  if (!name) return nullptr;
  for (const model::Index& index : table.schema->indexes) {
    if (index.name == *name && index.global && !index.building) return &index;
  }
  throw ApiError("ResourceNotFoundException", "Requested resource not found: Index: " + *name +
                                                  " not found for table: " + table.name());
}

// In the service these are rules of CloudWatch; their names say what is counted.
void append_rules(std::string& out, const catalog::Table& table, const model::Index* index,
                  const InsightsSettings& settings) {
  const bool has_sort = !(index != nullptr ? index->key.sort : table.schema->key.sort).empty();
  json::Array rules(out);
  for (const char counted : {'C', 'T'}) {
    if (counted == 'C' && settings.throttled_only) continue;
    for (const char part : {'P', 'S'}) {
      if (part == 'S' && !has_sort) continue;
      std::string rule = "DynamoDBContributorInsights-";
      rule.append({part, 'K', counted, '-'}).append(table.name());
      if (index != nullptr) rule.append("-").append(index->name);
      json::append_quoted(rules.element(), rule + "-" + std::to_string(settings.created_ms));
    }
  }
  rules.close();
}

void write_names(json::Object& answer, const catalog::Table& table, const model::Index* index) {
  answer.string("TableName", table.name());
  if (index != nullptr) answer.string("IndexName", index->name);
}

// What ListContributorInsights shows: one table or index with insights.
struct Entry {
  catalog::TablePtr table;
  const model::Index* index = nullptr;
  InsightsSettings settings;
  // Sorts like the entries.
  std::string token() const {
    return table->name() + '\0' + (index != nullptr ? index->name : std::string());
  }
};

// By table, each before its indexes, which are in the order of their names.
std::vector<Entry> entries_of(const std::vector<catalog::TablePtr>& tables) {
  std::vector<Entry> entries;
  for (const auto& table : tables) {
    if (table->insights.empty()) continue;
    const auto add = [&](const model::Index* index) {
      const auto at = table->insights.find(index != nullptr ? index->number : 0);
      if (at != table->insights.end()) entries.push_back({table, index, at->second});
    };
    add(nullptr);
    std::vector<const model::Index*> indexes;
    for (const model::Index& index : table->schema->indexes) indexes.push_back(&index);
    std::sort(indexes.begin(), indexes.end(),
              [](const auto* a, const auto* b) { return a->name < b->name; });
    for (const model::Index* index : indexes) add(index);
  }
  return entries;
}

void append_keys(std::string& out, const capacity::KeyCounter& counter) {
  json::Array list(out);
  for (const auto& counted : counter.top(kKeysInReport)) {
    json::Object one(list.element());
    std::string_view encoded = counted.key;
    append_item(one.key("key"), model::decode_value(encoded).as_map());
    one.integer("count", static_cast<int64_t>(counted.count));
    one.integer("error", static_cast<int64_t>(counted.error));
    one.close();
  }
  list.close();
}

void append_counts(std::string& out, const capacity::KeyCounter& partitions,
                   const capacity::KeyCounter& items, bool has_sort) {
  json::Object object(out);
  append_keys(object.key("partition_keys"), partitions);
  if (has_sort) append_keys(object.key("items"), items);
  object.close();
}

}  // namespace

Task<std::string> update_contributor_insights(Request& request) {
  const Context& context = request.context;
  check_shape(request, kCheckedHere);
  const auto index_name = index_name_of(request);
  const bool enable = json::string_member(request.body, "ContributorInsightsAction") == "ENABLE";
  const bool throttled_only =
      json::string_member(request.body, "ContributorInsightsMode") == "THROTTLED_KEYS";
  const auto known = existing_table(request);
  std::optional<InsightsSettings> settings;
  bool changes = false;
  model::IndexNumber number = 0;
  const std::function<void(catalog::Table&)> change = [&](catalog::Table& table) {
    const model::Index* index = find_index(table, index_name);
    number = index != nullptr ? index->number : 0;
    const auto at = table.insights.find(number);
    settings = at != table.insights.end() ? std::optional(at->second) : std::nullopt;
    const bool enabled = settings && settings->enabled;
    changes = enable != enabled || (enable && settings->throttled_only != throttled_only);
    if (!changes) return;
    const int64_t now_ms = context.clock.now_ms();
    if (!settings) settings.emplace();
    if (enable && !settings->enabled) settings->created_ms = now_ms;
    if (enable) settings->throttled_only = throttled_only;
    settings->enabled = enable;
    settings->changed_ms = now_ms;
    table.insights[number] = *settings;
  };
  const auto updated = co_await context.catalog.update(known->name(), change);
  if (!updated) throw_table_not_found(known->name());
  if (!enable) context.store.insights().forget(*updated, number);
  std::string out;
  json::Object answer(out);
  answer.string("TableName", updated->name());
  if (index_name) answer.string("IndexName", *index_name);
  if (changes) {
    answer.string("ContributorInsightsStatus", enable ? "ENABLING" : "DISABLING");
  } else {
    answer.string("ContributorInsightsStatus",
                  settings ? status_name(context, *settings) : "DISABLED");
  }
  if (settings) answer.string("ContributorInsightsMode", mode_name(*settings));
  answer.close();
  co_return out;
}

Task<std::string> describe_contributor_insights(Request& request) {
  const Context& context = request.context;
  check_shape(request, kCheckedHere);
  const auto index_name = index_name_of(request);
  const auto table = existing_table(request);
  const model::Index* index = find_index(*table, index_name);
  const auto at = table->insights.find(index != nullptr ? index->number : 0);
  std::string out;
  json::Object answer(out);
  write_names(answer, *table, index);
  if (at == table->insights.end()) {
    answer.string("ContributorInsightsStatus", "DISABLED");
  } else {
    const InsightsSettings& settings = at->second;
    if (settings.enabled)
      append_rules(answer.key("ContributorInsightsRuleList"), *table, index, settings);
    answer.string("ContributorInsightsStatus", status_name(context, settings));
    append_timestamp(answer.key("LastUpdateDateTime"), settings.changed_ms);
    answer.string("ContributorInsightsMode", mode_name(settings));
  }
  answer.close();
  co_return out;
}

Task<std::string> list_contributor_insights(Request& request) {
  const Context& context = request.context;
  check_shape(request);
  std::vector<catalog::TablePtr> tables;
  if (json::member(request.body, "TableName")) {
    tables.push_back(existing_table(request));
  } else {
    tables = context.catalog.list();
  }
  std::vector<Entry> entries = entries_of(tables);
  std::erase_if(entries, [&](const Entry& entry) {
    return status_name(context, entry.settings) == "DISABLED";
  });
  // The token names the entry after which the page begins. That one may be gone by now.
  auto from = entries.begin();
  if (const auto token = json::string_member(request.body, "NextToken")) {
    const auto last = decode_base64(*token);
    if (!last || last->find('\0') == std::string::npos)
      invalid("The provided NextToken is invalid");
    from = std::find_if(entries.begin(), entries.end(),
                        [&](const Entry& entry) { return entry.token() > *last; });
  }
  const int64_t asked = json::int_member(request.body, "MaxResults").value_or(kMostOnPage);
  const auto limit = static_cast<std::ptrdiff_t>(std::clamp<int64_t>(asked, 1, kMostOnPage));
  const auto end = from + std::min(limit, entries.end() - from);
  std::string out;
  json::Object answer(out);
  json::Array summaries(answer.key("ContributorInsightsSummaries"));
  for (auto entry = from; entry != end; ++entry) {
    json::Object summary(summaries.element());
    write_names(summary, *entry->table, entry->index);
    summary.string("ContributorInsightsStatus", status_name(context, entry->settings));
    summary.string("ContributorInsightsMode", mode_name(entry->settings));
    summary.close();
  }
  summaries.close();
  if (end != entries.end()) {
    std::string token;
    append_base64(token, (end - 1)->token());
    answer.string("NextToken", token);
  }
  answer.close();
  co_return out;
}

std::string insights_report(const Context& context) {
  std::string out;
  json::Object report(out);
  json::Array list(report.key("insights"));
  for (const Entry& entry : entries_of(context.catalog.list())) {
    if (!entry.settings.enabled || entry.table->deleted_at_ms) continue;
    json::Object one(list.element());
    one.string("table", entry.table->name());
    if (entry.index != nullptr) one.string("index", entry.index->name);
    one.string("mode", mode_name(entry.settings));
    append_timestamp(one.key("since"), entry.settings.created_ms);
    const model::IndexNumber number = entry.index != nullptr ? entry.index->number : 0;
    auto counts = context.store.insights().counts(*entry.table, number);
    if (!counts) counts = std::make_shared<const capacity::KeyCounts>();
    const bool has_sort =
        !(entry.index != nullptr ? entry.index->key.sort : entry.table->schema->key.sort).empty();
    if (!entry.settings.throttled_only) {
      append_counts(one.key("accessed"), counts->accessed_partitions, counts->accessed_items,
                    has_sort);
    }
    append_counts(one.key("throttled"), counts->throttled_partitions, counts->throttled_items,
                  has_sort);
    one.close();
  }
  list.close();
  report.close();
  return out;
}

}  // namespace stator::ops
