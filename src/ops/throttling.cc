#include "ops/throttling.h"

#include <string>
#include <vector>

#include "capacity/units.h"
#include "json/writer.h"
#include "model/key_codec.h"

namespace stator::ops {

namespace {

using capacity::Access;
using capacity::Limit;
using capacity::Place;

constexpr std::string_view kTableText =
    "The level of configured provisioned throughput for the table was exceeded. Consider "
    "increasing your provisioning "
    "level with the UpdateTable API.";
constexpr std::string_view kIndexText =
    "The level of configured provisioned throughput for one or more global secondary indexes of "
    "the table was "
    "exceeded. Consider increasing your provisioning level for the under-provisioned global "
    "secondary indexes with the "
    "UpdateTable API";
constexpr std::string_view kMaximumText =
    "Throughput exceeds the maximum OnDemandThroughput configured on table or index";
constexpr std::string_view kOnDemandTableText =
    "Throughput exceeds the current capacity of your table or index. DynamoDB is automatically "
    "scaling your table or "
    "index so please try again shortly. If exceptions persist, check if you have a hot key: "
    "https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html";
constexpr std::string_view kOnDemandIndexText =
    "Throughput exceeds the current capacity for one or more global secondary indexes. DynamoDB is "
    "automatically "
    "scaling your index so please try again shortly.";

std::string_view limit_name(Limit limit) {
  switch (limit) {
    case Limit::kProvisioned:
      return "ProvisionedThroughputExceeded";
    case Limit::kMaximum:
      return "MaxOnDemandThroughputExceeded";
    case Limit::kKeyRange:
      break;
  }
  return "KeyRangeThroughputExceeded";
}

std::optional<uint64_t> partition_of(const model::KeySchema& key, const model::Item& item) {
  std::vector<const model::Value*> values;
  for (const model::KeyAttribute& attribute : key.partition) {
    const model::Value* value = item.find(attribute.name);
    if (value == nullptr || value->type() != model::value_type(attribute.type)) return std::nullopt;
    values.push_back(value);
  }
  return model::partition_hash(values);
}

Place get_place(const Context& context, const catalog::Table& table, const model::Item& key,
                double units) {
  Place place;
  place.units = units;
  if (context.throttle.watches_keys()) place.partition = partition_of(table.schema->key, key);
  return place;
}

// The partition key that all rows of a range have, if they have one: the hash follows the prefix of
// table or index.
std::optional<uint64_t> partition_of_range(const store::ReadPlan& plan) {
  const model::TableNumber table = plan.table->schema->number;
  const size_t prefix = plan.index != nullptr
                            ? model::index_prefix(table, plan.index->number).size()
                            : model::items_prefix(table).size();
  const size_t through_hash = prefix + sizeof(uint64_t);
  const std::string& begin = plan.range.begin;
  const std::string& end = plan.range.end;
  // A longer begin than that has a partition key in it; a segment of a scan has not.
  if (begin.size() <= through_hash || end.size() < through_hash) return std::nullopt;
  if (begin.compare(0, through_hash, end, 0, through_hash) != 0) return std::nullopt;
  return model::hash_in_key(begin, prefix);
}

// Where a write takes `units`, `factor` times those of the item itself, less what was taken before.
// Local indexes take from the table.
std::vector<Place> places_of(const AdmittedWrite& write, const store::WriteUnits& units,
                             const store::WriteUnits& taken, double factor) {
  const model::TableSchema& schema = *write.table->schema;
  std::vector<Place> places;
  places.push_back({nullptr, write.partition, factor * units.table - taken.table});
  for (size_t i = 0; i < schema.indexes.size(); ++i) {
    const double cost = i < units.indexes.size() ? units.indexes[i] : 0;
    const double paid = i < taken.indexes.size() ? taken.indexes[i] : 0;
    if (!schema.indexes[i].global) {
      places.front().units += cost - paid;
      continue;
    }
    Place place{&schema.indexes[i], std::nullopt, cost - paid};
    if (i < write.index_partitions.size()) place.partition = write.index_partitions[i];
    places.push_back(place);
  }
  return places;
}

bool has_key(const model::KeySchema& key, const model::Item& item) {
  for (size_t i = 0; i < key.size(); ++i) {
    if (!item.contains(key.at(i).name)) return false;
  }
  return true;
}

// What a write costs at least, if it does what it says.
store::WriteUnits least_units(const store::Write& write) {
  const model::TableSchema& schema = *write.table->schema;
  const bool put = write.kind == store::Write::Kind::kPut;
  store::WriteUnits units;
  units.table = put ? capacity::write_units(write.item_size_bytes) : 1;
  units.indexes.assign(schema.indexes.size(), 0);
  for (size_t i = 0; put && i < schema.indexes.size(); ++i) {
    if (has_key(schema.indexes[i].key, write.item)) units.indexes[i] = 1;
  }
  return units;
}

// A write on a table without limits: only counted.
AdmittedWrite unwatched(const store::Write& write) {
  AdmittedWrite admitted;
  admitted.table = write.table;
  return admitted;
}

// Looks a write up, without its units.
AdmittedWrite look_at(const Context& context, const store::Write& write) {
  AdmittedWrite looked;
  looked.table = write.table;
  looked.watched = true;
  if (!context.throttle.watches_keys()) return looked;
  const model::TableSchema& schema = *write.table->schema;
  looked.partition = partition_of(schema.key, write.item);
  // Of an update or a delete only the key is known: what it does to an index does not count for the
  // keys there.
  if (write.kind != store::Write::Kind::kPut) return looked;
  for (const model::Index& index : schema.indexes) {
    looked.index_partitions.push_back(
        has_key(index.key, write.item) ? partition_of(index.key, write.item) : std::nullopt);
  }
  return looked;
}

capacity::Usage::Place usage_place(const catalog::Table& table, const model::Index* index) {
  return {table.schema->number, index != nullptr && index->global ? index->number : 0};
}

void count_refusal(const Context& context, const catalog::Table& table,
                   const capacity::Refusal& refusal) {
  for (const capacity::Refusal::Blocked& blocked : refusal.blocked) {
    context.throttle.usage().throttled(usage_place(table, blocked.index),
                                       refusal.access == Access::kWrite);
  }
}

// Local indexes consume in the table.
void count_write(const Context& context, const catalog::Table& table,
                 const store::WriteUnits& units, double factor) {
  capacity::Usage& usage = context.throttle.usage();
  const model::TableSchema& schema = *table.schema;
  double of_table = factor * units.table;
  for (size_t i = 0; i < units.indexes.size() && i < schema.indexes.size(); ++i) {
    if (units.indexes[i] == 0) continue;
    if (schema.indexes[i].global) {
      usage.consumed(usage_place(table, &schema.indexes[i]), true, units.indexes[i]);
    } else {
      of_table += units.indexes[i];
    }
  }
  usage.consumed(usage_place(table, nullptr), true, of_table);
}

}  // namespace

ApiError throttling_error(const catalog::Table& table, const capacity::Refusal& refusal) {
  const bool provisioned = table.billing == catalog::BillingMode::kProvisioned;
  const capacity::Refusal::Blocked& first = refusal.blocked.front();
  const bool of_table = first.index == nullptr;
  // The model spells the member so.
  std::string extra = provisioned ? ",\"ThrottlingReasons\":" : ",\"throttlingReasons\":";
  json::Array reasons(extra);
  for (const capacity::Refusal::Blocked& blocked : refusal.blocked) {
    json::Object reason(reasons.element());
    reason.string("reason", std::string(blocked.index == nullptr ? "Table" : "Index") +
                                (refusal.access == Access::kWrite ? "Write" : "Read") +
                                std::string(limit_name(blocked.limit)));
    reason.string("resource", blocked.index == nullptr
                                  ? table.arn
                                  : table.arn + "/index/" + blocked.index->name);
    reason.close();
  }
  reasons.close();
  if (provisioned) {
    return {"ProvisionedThroughputExceededException",
            std::string(of_table ? kTableText : kIndexText), std::move(extra)};
  }
  std::string_view text = kMaximumText;
  if (first.limit == Limit::kKeyRange) {
    text = of_table || refusal.access == Access::kRead ? kOnDemandTableText : kOnDemandIndexText;
  }
  return {"ThrottlingException", std::string(text), std::move(extra)};
}

namespace {
ApiError refuse_write(const Context& context, const store::Write& write,
                      const capacity::Refusal& refusal) {
  count_refusal(context, *write.table, refusal);
  for (const capacity::Refusal::Blocked& blocked : refusal.blocked) {
    context.store.insights().throttled(*write.table, blocked.index, write.item);
  }
  return throttling_error(*write.table, refusal);
}
}  // namespace

AdmittedRead admit_get(const Context& context, const catalog::Table& table, const model::Item& key,
                       double least) {
  AdmittedRead read;
  if (!context.throttle.watches(table)) return read;
  read.watched = true;
  read.place = get_place(context, table, key, least);
  const auto refusal = context.throttle.admit(table, Access::kRead, {&read.place, 1});
  if (refusal) {
    count_refusal(context, table, *refusal);
    context.store.insights().throttled(table, nullptr, key);
    read.refused = throttling_error(table, *refusal);
  }
  return read;
}

AdmittedRead admit_page(const Context& context, const store::ReadPlan& plan, double least) {
  AdmittedRead read;
  const catalog::Table& table = *plan.table;
  read.place.index = plan.index != nullptr && plan.index->global ? plan.index : nullptr;
  if (!context.throttle.watches(table)) return read;
  read.watched = true;
  read.place.units = least;
  if (context.throttle.watches_keys()) read.place.partition = partition_of_range(plan);
  const auto refusal = context.throttle.admit(table, Access::kRead, {&read.place, 1});
  if (refusal) {
    count_refusal(context, table, *refusal);
    read.refused = throttling_error(table, *refusal);
  }
  return read;
}

AdmittedRead check_get(const Context& context, const catalog::Table& table,
                       const model::Item& key) {
  AdmittedRead read;
  if (!context.throttle.watches(table)) return read;
  read.watched = true;
  read.place = get_place(context, table, key, 0);
  const auto refusal = context.throttle.check(table, Access::kRead, {&read.place, 1});
  if (refusal) {
    count_refusal(context, table, *refusal);
    context.store.insights().throttled(table, nullptr, key);
    read.refused = throttling_error(table, *refusal);
  }
  return read;
}

void settle_read(const Context& context, const catalog::Table& table, const AdmittedRead& read,
                 double units) {
  context.throttle.usage().consumed(usage_place(table, read.place.index), false, units);
  if (!read.watched || units == read.place.units) return;
  Place place = read.place;
  place.units = units - read.place.units;
  context.throttle.take(table, Access::kRead, {&place, 1});
}

AdmittedWrite admit_write(const Context& context, const store::Write& write) {
  if (!context.throttle.watches(*write.table)) return unwatched(write);
  AdmittedWrite admitted = look_at(context, write);
  admitted.taken = least_units(write);
  const auto refusal = context.throttle.admit(*write.table, Access::kWrite,
                                              places_of(admitted, admitted.taken, {}, 1));
  if (refusal) admitted.refused = refuse_write(context, write, *refusal);
  return admitted;
}

AdmittedWrite check_write(const Context& context, const store::Write& write) {
  if (!context.throttle.watches(*write.table)) return unwatched(write);
  AdmittedWrite looked = look_at(context, write);
  const auto refusal =
      context.throttle.check(*write.table, Access::kWrite, places_of(looked, {}, {}, 1));
  if (refusal) looked.refused = refuse_write(context, write, *refusal);
  return looked;
}

void settle_write(const Context& context, const AdmittedWrite& write,
                  const store::WriteUnits& units, double factor) {
  count_write(context, *write.table, units, factor);
  if (!write.watched) return;
  context.throttle.take(*write.table, Access::kWrite, places_of(write, units, write.taken, factor));
}

void settle_replay(const Context& context, const AdmittedWrite& write, double units) {
  context.throttle.usage().consumed(usage_place(*write.table, nullptr), false, units);
  if (!write.watched) return;
  const Place place{nullptr, write.partition, units};
  context.throttle.take(*write.table, Access::kRead, {&place, 1});
}

Task<store::WriteResult> write_item(const Context& context, store::Write write) {
  const AdmittedWrite admitted = admit_write(context, write);
  if (admitted.refused) throw ApiError(*admitted.refused);
  auto pending = context.store.write(std::move(write));
  store::WriteResult result = co_await pending;
  settle_write(context, admitted, result.units);
  co_return result;
}

}  // namespace stator::ops
