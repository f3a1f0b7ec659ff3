// What the requests about tables have in common: names, keys, indexes, throughput and settings,
// read from JSON whose shape has been checked, with the service's complaints about what they mean.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "catalog/table.h"
#include "ops/operation.h"

namespace stator::ops {

// Throws a ValidationException that begins with "One or more parameter values were invalid: ".
[[noreturn]] void invalid_parameter(const std::string& text);

// Throws unless the request has a TableName.
void require_table_name(const Request& request);
[[noreturn]] void throw_table_not_found(std::string_view name);
// The table of the request's TableName, in whatever state, but not while it is being restored, when
// it can only be looked at. Throws a ResourceNotFoundException.
catalog::TablePtr existing_table(const Request& request);
// The same, also while it is being restored.
catalog::TablePtr shown_table(const Request& request);
// Throws a ResourceInUseException unless the table is ACTIVE.
void refuse_unless_active(const catalog::Table& table, int64_t now_ms);

using Definitions = std::vector<model::KeyAttribute>;
Definitions read_definitions(const std::optional<json::ArrayElement>& list);

struct KeyElement {
  std::string name;
  bool hash = false;
};
using KeyElements = std::vector<KeyElement>;
KeyElements read_key_elements(const json::ArrayElement& list);

// Throws unless every element is defined.
void check_defined(const KeyElements& elements, const Definitions& definitions);
// Throws unless the elements make a key of a table or local index: HASH, or HASH and RANGE.
void check_simple_key(const KeyElements& elements);
// Throws unless the elements make a key of a global index: one to four HASH, then up to four RANGE.
void check_global_key(const KeyElements& elements);
// Of elements that were checked.
model::KeySchema make_key(const KeyElements& elements, const Definitions& definitions);

// A local or global index of a CreateTable request, or a global one to be created. The key has been
// read; its projection is checked here.
void read_projection(const json::Element& index_request, model::Index& index);

// Sets what ProvisionedThroughput, OnDemandThroughput and WarmThroughput say. `index` is empty for
// the table itself.
std::optional<std::pair<int64_t, int64_t>> read_throughput(
    const json::Element& element);  // reads, writes
void check_throughput_bounds(const std::pair<int64_t, int64_t>& units);
void read_on_demand(const json::Element& element, catalog::BillingMode billing,
                    std::string_view index, catalog::Capacity& capacity);
void read_warm(const json::Element& element, catalog::Capacity& capacity);

// A global index of a CreateTable request or of an index update, without its number.
struct GlobalIndex {
  model::Index index;
  catalog::Capacity capacity;
};
GlobalIndex read_global_index(const json::Element& request, const Definitions& definitions,
                              catalog::BillingMode billing);
inline constexpr size_t kMaxGlobalIndexes = 20;

// Throws for a TableClass that is none. Empty if the request has none.
std::string read_table_class(const json::Element& body);
// Throws what is wrong with an SSESpecification, the member `name` of the body.
std::optional<catalog::EncryptionSettings> read_encryption(
    const Context& context, const json::Element& body, std::string_view name = "SSESpecification");

using Tags = std::vector<std::pair<std::string, std::string>>;
// Throws for a bad key, a reserved one, a duplicate or too many.
Tags read_tags(const std::optional<json::ArrayElement>& list);

// The table that a CreateTable request, or the same members elsewhere, asks for. Throws everything
// that is wrong with them beyond their shape.
catalog::Table read_new_table(const Context& context, const json::Element& body, std::string name);

}  // namespace stator::ops
