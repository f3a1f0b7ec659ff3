// What the operations about backups and recovery have in common. They have errors of their own, and
// call a table that cannot be used TableNotFoundException.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "catalog/table.h"
#include "ops/operation.h"

namespace stator::ops {

[[noreturn]] void throw_source_not_found(std::string_view name);
// The table of the request's TableName. Throws unless it is past its creation.
catalog::TablePtr recoverable_table(const Request& request);

// A point in time of a request, in milliseconds.
std::optional<int64_t> time_member_ms(const json::Element& element, std::string_view name);
// "2026-10-08T23:16:33Z"
std::string utc_text(int64_t time_s);

// The seconds that a table with point-in-time recovery can be restored to.
struct RestorableTimes {
  int64_t earliest_s = 0;
  int64_t latest_s = 0;
};
RestorableTimes restorable_times(const catalog::Table& table, int64_t now_ms);

// The table that a restore makes of `source`: its keys, indexes, capacity and encryption, as far as
// the request does not override them, and nothing else of it. Throws what is wrong with the
// overrides.
catalog::Table restored_table(const Request& request, const catalog::Table& source,
                              std::string name);
// Throws if a restore cannot make a table of that name.
void check_restore_target(const Request& request, const std::string& name);
// Creates it, with the items to follow from `from`, and answers. Throws if the name is taken or too
// many restores are under way.
Task<std::string> begin_restore(const Request& request, catalog::Table table,
                                catalog::RestoreSource from);

}  // namespace stator::ops
