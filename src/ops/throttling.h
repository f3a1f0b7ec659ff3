// Operations and capacity: units are taken when a request is admitted, as many as it costs at
// least, and the rest when its cost is known. On a table without limits all of this is one branch.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ops/operation.h"
#include "store/store.h"

namespace stator::ops {

// The error of a refused request.
ApiError throttling_error(const catalog::Table& table, const capacity::Refusal& refusal);

// A read that was looked at. Nothing but `refused` is for the caller to look into.
struct AdmittedRead {
  std::optional<ApiError> refused;
  bool watched = false;
  capacity::Place place;  // with the units taken
};
// One item by its key, or a page of a table or index, whose rows may all be of one partition key.
// Takes `least` units unless it is refused.
AdmittedRead admit_get(const Context& context, const catalog::Table& table, const model::Item& key,
                       double least);
AdmittedRead admit_page(const Context& context, const store::ReadPlan& plan, double least);
// Takes what the read cost more than was taken.
void settle_read(const Context& context, const catalog::Table& table, const AdmittedRead& read,
                 double units);

// A write that was looked at, likewise.
struct AdmittedWrite {
  std::optional<ApiError> refused;
  catalog::TablePtr table;
  bool watched = false;
  std::optional<uint64_t> partition;
  std::vector<std::optional<uint64_t>> index_partitions;
  store::WriteUnits taken;
};
// Takes what the write costs at least unless it is refused.
AdmittedWrite admit_write(const Context& context, const store::Write& write);
// Takes its cost, `factor` times in the table, as far as it was not taken.
void settle_write(const Context& context, const AdmittedWrite& write,
                  const store::WriteUnits& units, double factor = 1);
// A transaction that happened before is only read.
void settle_replay(const Context& context, const AdmittedWrite& write, double units);

// The same for several that happen together, which are refused or go on together: nothing is taken
// before they settle.
AdmittedRead check_get(const Context& context, const catalog::Table& table, const model::Item& key);
AdmittedWrite check_write(const Context& context, const store::Write& write);

// store.write, unless the write is refused: then throws.
Task<store::WriteResult> write_item(const Context& context, store::Write write);

}  // namespace stator::ops
