#include "database/table_metrics.h"

#include <functional>
#include <set>
#include <vector>

namespace stator {

namespace {

// A table, or one of its indexes.
struct Row {
  catalog::TablePtr table;
  std::string_view index;  // empty: the table itself
  store::Store::Size size;
  capacity::Usage::Totals used;
};

// A metric with a sample for each row. A table's own row has an empty label `index`, which for
// Prometheus is none.
template <typename Value>
void write_rows(metrics::Text& text, std::string_view name, std::string_view type,
                std::string_view help, const std::vector<Row>& rows, const Value& value) {
  text.family(name, type, help);
  for (const Row& row : rows)
    text.sample({{"table", row.table->name()}, {"index", row.index}}, value(row));
}

}  // namespace

Task<void> write_table_metrics(metrics::Text& text, catalog::Catalog& catalog, store::Store& store,
                               capacity::Throttle& throttle) {
  const std::vector<catalog::TablePtr> tables = catalog.list();
  std::set<model::TableNumber> numbers;
  for (const catalog::TablePtr& table : tables) numbers.insert(table->schema->number);
  throttle.usage().keep_only(numbers);
  text.gauge("stator_tables", "Tables.", static_cast<double>(tables.size()));

  std::vector<Row> rows;
  for (size_t i = 0; i < tables.size() && i < kMostTablesShown; ++i) {
    const model::TableSchema& schema = *tables[i]->schema;
    auto pending = store.sizes(schema);
    const std::vector<store::Store::Size> sizes = co_await pending;
    rows.push_back({tables[i], {}, sizes.at(0), throttle.usage().totals({schema.number, 0})});
    for (size_t at = 0; at < schema.indexes.size(); ++at) {
      const model::Index& index = schema.indexes[at];
      // A local index consumes in its table.
      const auto used = index.global ? throttle.usage().totals({schema.number, index.number})
                                     : capacity::Usage::Totals{};
      rows.push_back({tables[i], index.name, sizes.at(at + 1), used});
    }
  }
  write_rows(text, "stator_table_items", "gauge", "Items of a table or of one of its indexes.",
             rows, [](const Row& row) { return row.size.items; });
  write_rows(text, "stator_table_size_bytes", "gauge",
             "Size of the items of a table or of one of its indexes.", rows,
             [](const Row& row) { return row.size.bytes; });
  write_rows(text, "stator_consumed_read_units_total", "counter",
             "Read units consumed; those of local indexes are in their table.", rows,
             [](const Row& row) { return row.used.read_units; });
  write_rows(text, "stator_consumed_write_units_total", "counter",
             "Write units consumed; those of local indexes are in their table.", rows,
             [](const Row& row) { return row.used.write_units; });
  write_rows(text, "stator_throttled_reads_total", "counter",
             "Reads refused because the capacity was used up.", rows,
             [](const Row& row) { return row.used.throttled_reads; });
  write_rows(text, "stator_throttled_writes_total", "counter",
             "Writes refused because the capacity was used up.", rows,
             [](const Row& row) { return row.used.throttled_writes; });
}

}  // namespace stator
