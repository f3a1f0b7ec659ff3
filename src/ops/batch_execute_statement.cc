#include <algorithm>

#include "capacity/units.h"
#include "model/codec.h"
#include "model/key_codec.h"
#include "ops/partiql_run.h"
#include "ops/throttling.h"

namespace stator::ops {

namespace {

// One statement of a batch on its way. A failure is its own and leaves the others alone.
struct BatchMember {
  std::optional<partiql::Plan> plan;
  bool consistent = false;
  catalog::TablePtr table;  // once everything has been checked
  store::Write write;       // of a write
  model::Item key;          // of a read

  std::optional<ApiError> error;
  bool ran = false;
  std::optional<model::Item> row;
  store::WriteUnits units;

  bool ready() const { return table != nullptr && !error; }
};

// "ValidationException" is "ValidationError" here, other exceptions lose the word.
std::string error_code(const std::string& type) {
  constexpr std::string_view kException = "Exception";
  std::string code = type;
  if (code.ends_with(kException)) code.erase(code.size() - kException.size());
  if (code == "Validation" || code == "Throttling") code += "Error";
  return code;
}

// Runs `step` unless the member has failed before. What no member can do anything about ends the
// whole request.
template <typename Step>
void attempt(BatchMember& member, Step step) {
  if (member.error) return;
  try {
    step();
  } catch (const ApiError& error) {
    if (error.type() == "SerializationException") throw;
    member.error = error;
  }
}

void prepare(const Context& context, const json::Element& element, BatchMember& member) {
  const std::string_view text = *json::string_member(element, "Statement");
  partiql::Plan plan = prepare_statement(context, text, read_parameters(element));
  if (std::holds_alternative<partiql::Exists>(plan)) {
    invalid("EXISTS can only be used in ExecuteTransaction write requests.");
  }
  member.plan = std::move(plan);
  member.consistent = json::bool_member(element, "ConsistentRead").value_or(false);
}

void check_read(const Context& context, const partiql::Select& select, BatchMember& member) {
  auto table = active_table(context, select.from.table);
  const model::KeySchema& key = table->schema->key;
  member.key = single_read_key(select, *table->schema, "BatchExecuteStatement");
  for (size_t i = 0; i < key.size(); ++i) {
    if (member.key.find(key.at(i).name)->type() == model::value_type(key.at(i).type)) continue;
    invalid("Key attribute's data type should match its data type in table's schema: Key " +
            key.at(i).name);
  }
  check_key_values(key, member.key);
  member.table = std::move(table);
}

void check_against_table(const Context& context, BatchMember& member) {
  if (const auto* select = std::get_if<partiql::Select>(&*member.plan)) {
    check_read(context, *select, member);
    return;
  }
  member.write = single_write(context, *member.plan);
  member.table = member.write.table;
}

void check_not_mixed(const std::vector<BatchMember>& members) {
  const auto any = [&](bool read) {
    return std::any_of(members.begin(), members.end(), [read](const BatchMember& member) {
      return member.plan && is_read(*member.plan) == read;
    });
  };
  if (any(true) && any(false)) {
    invalid("Read and write requests together in the same batch is not supported.");
  }
}

void check_distinct(const std::vector<BatchMember>& members) {
  std::vector<std::string> keys;
  for (const BatchMember& member : members) {
    if (!member.ready()) continue;
    const bool read = is_read(*member.plan);
    keys.push_back(model::item_key(*member.table->schema, read ? member.key : member.write.item));
  }
  std::sort(keys.begin(), keys.end());
  if (std::adjacent_find(keys.begin(), keys.end()) != keys.end()) {
    invalid("Provided list of item keys contains duplicates");
  }
}

Task<void> run_read(const Context& context, BatchMember& member) {
  const auto& select = std::get<partiql::Select>(*member.plan);
  const AdmittedRead admitted =
      admit_get(context, *member.table, member.key, capacity::read_units(0, member.consistent));
  if (admitted.refused) throw ApiError(*admitted.refused);
  auto pending = context.store.get(member.table, member.key);
  const std::optional<std::string> record = co_await pending;
  size_t size_bytes = 0;
  if (record) {
    std::string_view encoded = *record;
    size_bytes = model::read_header(encoded).size_bytes;
    member.row = model::decode_item(encoded);
    if (select.columns) member.row = select_columns(*select.columns, *member.row);
  }
  member.units.table = capacity::read_units(size_bytes, member.consistent);
  settle_read(context, *member.table, admitted, member.units.table);
}

Task<void> run_write(const Context& context, BatchMember& member) {
  auto pending = write_item(context, std::move(member.write));
  const store::WriteResult result = co_await pending;
  member.units = result.units;
  if (result.kind == store::WriteResult::Kind::kDuplicate) {
    member.error = ApiError("DuplicateItemException", "Duplicate primary key exists in table");
  } else if (!result.done()) {
    member.error = ApiError("ConditionalCheckFailedException", "The conditional request failed");
  } else {
    member.row = returned_row(*member.plan, result);
  }
}

// The result is of no use: when_all wants one.
Task<bool> run(const Context& context, BatchMember& member) {
  member.ran = true;
  try {
    auto pending = is_read(*member.plan) ? run_read(context, member) : run_write(context, member);
    co_await pending;
  } catch (const ApiError& error) {
    member.error = error;
  }
  co_return true;
}

void append_responses(json::Object& answer, const std::vector<BatchMember>& members) {
  json::Array responses(answer.key("Responses"));
  for (const BatchMember& member : members) {
    json::Object response(responses.element());
    if (member.error) {
      json::Object error(response.key("Error"));
      error.string("Code", error_code(member.error->type()));
      error.string("Message", member.error->message());
      error.close();
    }
    if (member.ran) response.string("TableName", table_name(*member.plan));
    if (member.row) append_item(response.key("Item"), *member.row);
    response.close();
  }
  responses.close();
}

// One entry for each table with a success. What failed after it ran counts in the total alone.
void append_consumed(json::Object& answer, CapacityMode mode,
                     const std::vector<BatchMember>& members) {
  if (mode == CapacityMode::kNone) return;
  struct Entry {
    Consumed consumed;
    bool success = false;
  };
  std::vector<Entry> tables;
  for (const BatchMember& member : members) {
    if (!member.ran) continue;
    const std::string& name = table_name(*member.plan);
    auto at = std::find_if(tables.begin(), tables.end(),
                           [&](const Entry& entry) { return entry.consumed.table_name == name; });
    if (at == tables.end()) {
      at = tables.insert(tables.end(), Entry{{name, 0, {}, member.table->schema.get()}, false});
    }
    Consumed& consumed = at->consumed;
    if (member.error) {
      consumed.unassigned += member.units.table;
      continue;
    }
    at->success = true;
    consumed.table += member.units.table;
    const std::vector<double>& indexes = member.units.indexes;
    consumed.indexes.resize(std::max(consumed.indexes.size(), indexes.size()), 0);
    for (size_t i = 0; i < indexes.size(); ++i) consumed.indexes[i] += indexes[i];
  }
  std::erase_if(tables, [](const Entry& entry) { return !entry.success; });
  if (tables.empty()) return;
  json::Array list(answer.key("ConsumedCapacity"));
  for (const Entry& entry : tables) append_capacity_value(list.element(), mode, entry.consumed);
  list.close();
}

}  // namespace

Task<std::string> batch_execute_statement(Request& request) {
  check_shape(request);
  const Context& context = request.context;
  const json::ArrayElement statements = *json::array_member(request.body, "Statements");
  std::vector<BatchMember> members(statements.size());
  size_t next = 0;
  for (const json::Element element : statements) {
    BatchMember& member = members[next++];
    attempt(member, [&] { prepare(context, element, member); });
  }
  check_not_mixed(members);
  for (BatchMember& member : members) {
    attempt(member, [&] { check_against_table(context, member); });
  }
  check_distinct(members);
  std::vector<Task<bool>> tasks;
  for (BatchMember& member : members) {
    if (member.ready()) tasks.push_back(run(context, member));
  }
  auto pending = when_all(std::move(tasks));
  co_await pending;

  std::string out;
  json::Object answer(out);
  append_responses(answer, members);
  append_consumed(answer, capacity_mode(request.body), members);
  answer.close();
  co_return out;
}

}  // namespace stator::ops
