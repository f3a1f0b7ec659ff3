#include "ops/partiql_run.h"

#include <utility>

#include "ops/partiql_select.h"
#include "partiql/parser.h"

namespace stator::ops {

namespace {

constexpr expr::Wording kWording = expr::Wording::kOlder;

template <typename... Forms>
struct Overloaded : Forms... {
  using Forms::operator()...;
};
template <typename... Forms>
Overloaded(Forms...) -> Overloaded<Forms...>;

bool has_multi_attribute_key(const model::Index& index) {
  return index.key.partition.size() > 1 || index.key.sort.size() > 1;
}

}  // namespace

std::vector<model::Value> read_parameters(const json::Element& element) {
  std::vector<model::Value> parameters;
  if (const auto list = json::array_member(element, "Parameters")) {
    for (const json::Element value : *list) parameters.push_back(read_value(value, kWording));
  }
  return parameters;
}

partiql::Plan prepare_statement(const Context& context, std::string_view text,
                                const std::vector<model::Value>& parameters) {
  const partiql::Statement statement = partiql::parse(text);
  if (const auto target = partiql::target_of(statement); target && target->index) {
    const auto table = context.catalog.find(target->table);
    const model::Index* index = table ? table->schema->find_index(*target->index) : nullptr;
    if (index != nullptr && has_multi_attribute_key(*index)) {
      invalid(
          "PartiQL statements cannot be executed on tables with multi-attribute HASH keys or "
          "multi-attribute RANGE "
          "keys.");
    }
  }
  return partiql::compile(statement, parameters);
}

bool is_read(const partiql::Plan& plan) {
  return std::holds_alternative<partiql::Select>(plan);
}

const std::string& table_name(const partiql::Plan& plan) {
  return std::visit(
      Overloaded{
          [](const partiql::Select& select) -> const std::string& { return select.from.table; },
          [](const partiql::Exists& exists) -> const std::string& {
            return exists.select.from.table;
          },
          [](const auto& write) -> const std::string& { return write.table; },
      },
      plan);
}

store::Write statement_write(const partiql::Plan& plan, catalog::TablePtr table,
                             partiql::ItemKey item) {
  store::Write write;
  write.table = std::move(table);
  if (const auto* insert = std::get_if<partiql::Insert>(&plan)) {
    write.kind = store::Write::Kind::kPut;
    write.presence = store::Write::Presence::kMustNotExist;
    write.item = insert->item;
    write.item_size_bytes = model::size_bytes(write.item);
    return write;
  }
  write.item = std::move(item.key);
  write.condition = std::move(item.rest);
  if (const auto* update = std::get_if<partiql::Update>(&plan)) {
    write.kind = store::Write::Kind::kUpdate;
    write.presence = store::Write::Presence::kMustExist;
    write.update = update->update;
    write.want_old = update->returning && update->returning->old;
    write.want_new = update->returning && !update->returning->old;
  } else if (const auto* erase = std::get_if<partiql::Delete>(&plan)) {
    write.kind = store::Write::Kind::kDelete;
    write.want_old = erase->returning.has_value();
    // To delete what is not there succeeds, whatever else the statement demands.
    if (write.condition) {
      std::vector<expr::Condition> either;
      either.push_back(
          expr::Condition::not_exists(expr::Path(write.table->schema->key.partition[0].name)));
      either.push_back(std::move(*write.condition));
      write.condition = expr::Condition::any_of(std::move(either));
    }
  } else {
    write.kind = store::Write::Kind::kCheck;
    write.presence = store::Write::Presence::kMustExist;
  }
  return write;
}

store::Write single_write(const Context& context, const partiql::Plan& plan) {
  if (const auto* insert = std::get_if<partiql::Insert>(&plan)) {
    if (model::size_bytes(insert->item) > store::kMaxItemBytes) {
      invalid("Item size has exceeded the maximum allowed size");
    }
    auto table = active_table(context, insert->table);
    check_item_keys(*table->schema, insert->item);
    store::check_index_keys(*table->schema, insert->item);
    return statement_write(plan, std::move(table), {});
  }
  auto table = active_table(context, table_name(plan));
  const model::TableSchema& schema = *table->schema;
  const auto* update = std::get_if<partiql::Update>(&plan);
  const auto& where = update != nullptr ? update->where : std::get<partiql::Delete>(plan).where;
  partiql::ItemKey item = partiql::plan_write(where, schema.key);
  check_key(schema, item.key);
  if (update != nullptr) update->update.check_keys(schema);
  return statement_write(plan, std::move(table), std::move(item));
}

std::optional<model::Item> returned_row(const partiql::Plan& plan,
                                        const store::WriteResult& result) {
  const auto& image = result.new_item ? result.new_item : result.old_item;
  if (!image) return std::nullopt;
  if (const auto* erase = std::get_if<partiql::Delete>(&plan))
    return erase->returning ? image : std::nullopt;
  const auto* update = std::get_if<partiql::Update>(&plan);
  if (update == nullptr || !update->returning) return std::nullopt;
  if (update->returning->all) return image;
  model::Item modified = update->update.updated_attributes(*image);
  if (modified.empty()) return std::nullopt;
  return modified;
}

model::Item single_read_key(const partiql::Select& select, const model::TableSchema& table,
                            std::string_view operation) {
  if (!select.from.index) {
    partiql::ItemKey item = partiql::find_item_key(select.where, table.key, true);
    const bool only_key = item.complete && !item.rest && item.second_value_of.empty();
    if (only_key) return std::move(item.key);
    // What is wrong with the keys themselves comes first.
    select_ranges(partiql::plan_read(select.where, table.key), table, nullptr);
  }
  invalid("Select statements within " + std::string(operation) +
          " must specify the primary key in the where clause.");
}

model::Item select_columns(const std::vector<partiql::Column>& columns, const model::Item& item) {
  model::Item row;
  for (const partiql::Column& column : columns) {
    if (const model::Value* value = column.path.find(item)) row.set(column.name, *value);
  }
  return row;
}

}  // namespace stator::ops
