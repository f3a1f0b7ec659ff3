#include "shell/session.h"

#include <fmt/format.h>

#include <algorithm>

#include "client/plain_value.h"
#include "json/writer.h"
#include "shell/input.h"

namespace stator::shell {

namespace {

constexpr std::string_view kHelp =
    "PartiQL statements end with ';' and may have several lines:\n"
    "  SELECT * FROM \"Orders\" WHERE PK = 'USER#1';\n"
    "  INSERT INTO \"Orders\" VALUE {'PK': 'USER#1', 'SK': 'A', 'total': 5};\n"
    "  UPDATE \"Orders\" SET total = 6 WHERE PK = 'USER#1' AND SK = 'A';\n"
    "  DELETE FROM \"Orders\" WHERE PK = 'USER#1' AND SK = 'A';\n"
    "Commands:\n"
    "  tables                                   lists the tables\n"
    "  describe TABLE                           keys, indexes and size of a table\n"
    "  count TABLE                              counts its items, by reading them\n"
    "  create table TABLE (PK S [, SK N])       with on-demand capacity; types are S, N and B\n"
    "  create index NAME on TABLE (PK S [, SK N])\n"
    "  drop table TABLE | drop index NAME on TABLE\n"
    "  begin … commit | rollback                statements between them are one transaction\n"
    "  format table | json | dynamo             how items are shown\n"
    "  more                                     the next rows of the last SELECT\n"
    "  quit\n";

const std::vector<std::string>& keywords() {
  static const std::vector<std::string> words = {
      "SELECT",    "FROM",   "WHERE",       "INSERT",   "INTO",
      "VALUE",     "UPDATE", "SET",         "REMOVE",   "DELETE",
      "AND",       "OR",     "NOT",         "BETWEEN",  "IN",
      "IS",        "NULL",   "MISSING",     "ORDER BY", "ASC",
      "DESC",      "EXISTS", "begins_with", "contains", "attribute_type",
      "RETURNING", "size"};
  return words;
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return out;
}

std::string_view text_of(const json::Element& element, std::string_view name) {
  return json::string_member(element, name).value_or("");
}

// "PK (S, partition key), SK (N, sort key)"
std::string keys_text(const json::Element& description, const json::Element& owner) {
  std::string out;
  for (const json::Element key : client::list_of(owner, "KeySchema")) {
    const std::string_view name = text_of(key, "AttributeName");
    std::string_view type = "?";
    for (const json::Element attribute : client::list_of(description, "AttributeDefinitions")) {
      if (text_of(attribute, "AttributeName") == name) type = text_of(attribute, "AttributeType");
    }
    out += fmt::format("{}{} ({}, {} key)", out.empty() ? "" : ", ", name, type,
                       text_of(key, "KeyType") == "HASH" ? "partition" : "sort");
  }
  return out;
}

// The attributes in "( PK S , SK N )", from the word `at` on.
struct KeyDefinition {
  std::vector<std::pair<std::string, std::string>> attributes;
};
KeyDefinition read_keys(const std::vector<std::string>& words, size_t at) {
  KeyDefinition keys;
  const auto wrong = [] {
    return std::runtime_error(
        "keys are written as (NAME TYPE) or (NAME TYPE, NAME TYPE), with the "
        "types S, N and B");
  };
  if (at >= words.size() || words[at] != "(") throw wrong();
  for (++at; at + 1 < words.size(); at += 3) {
    std::string type = words[at + 1];
    if (type == "s" || type == "n" || type == "b") type[0] = static_cast<char>(type[0] - 32);
    if (type != "S" && type != "N" && type != "B") throw wrong();
    keys.attributes.emplace_back(words[at], type);
    if (at + 2 >= words.size()) throw wrong();
    if (words[at + 2] == ")") break;
    if (words[at + 2] != ",") throw wrong();
  }
  if (keys.attributes.empty() || keys.attributes.size() > 2) throw wrong();
  return keys;
}

void append_definitions(json::Object& request, const KeyDefinition& keys) {
  json::Array definitions(request.key("AttributeDefinitions"));
  for (const auto& [name, type] : keys.attributes) {
    json::Object definition(definitions.element());
    definition.string("AttributeName", name);
    definition.string("AttributeType", type);
    definition.close();
  }
  definitions.close();
}

void append_schema(json::Object& request, const KeyDefinition& keys) {
  json::Array schema(request.key("KeySchema"));
  for (size_t i = 0; i < keys.attributes.size(); ++i) {
    json::Object key(schema.element());
    key.string("AttributeName", keys.attributes[i].first);
    key.string("KeyType", i == 0 ? "HASH" : "RANGE");
    key.close();
  }
  schema.close();
}

std::string request_with(std::string_view member, std::string_view value) {
  std::string body;
  json::Object request(body);
  request.string(member, value);
  request.close();
  return body;
}

// The table that a SELECT reads, without quotes and index; empty if it is not to be seen.
std::string table_of(const std::string& statement) {
  const std::vector<std::string> words = words_of(statement);
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    if (lower(words[i]) == "from") return words[i + 1].substr(0, words[i + 1].find('.'));
  }
  return {};
}

bool starts_with(std::string_view text, std::string_view start) {
  return lower(text.substr(0, start.size())) == lower(start);
}

}  // namespace

Session::Session(client::Endpoint& endpoint, Options options, Print print)
    : endpoint_(endpoint), options_(options), print_(std::move(print)) {}

json::Document Session::call(std::string_view operation, std::string body) {
  client::Reply reply = endpoint_.send(operation, std::move(body));
  if (!reply.ok()) throw client::error_of(reply);
  json::Document document;
  if (!document.parse(std::move(reply.body)))
    throw std::runtime_error("the answer of " + endpoint_.name() + " is not JSON");
  return document;
}

void Session::run(const std::string& statement) {
  if (is_command(statement)) {
    run_command(words_of(statement));
  } else if (transaction_) {
    transaction_->push_back(statement);
  } else {
    run_statement(statement);
  }
}

void Session::run_command(const Words& words) {
  const std::string name = lower(words[0]);
  const auto needs = [&](size_t count) {
    if (words.size() != count) throw std::runtime_error("see `help` for what " + name + " needs");
  };
  if (name == "quit" || name == "exit") {
    ended_ = true;
  } else if (name == "help") {
    show_help();
  } else if (name == "tables") {
    show_tables();
  } else if (name == "describe") {
    needs(2);
    describe(words[1]);
  } else if (name == "count") {
    needs(2);
    count(words[1]);
  } else if (name == "create") {
    create(words);
  } else if (name == "drop") {
    drop(words);
  } else if (name == "more") {
    next_page();
  } else if (name == "begin") {
    transaction_.emplace();
  } else if (name == "rollback") {
    transaction_.reset();
  } else if (name == "commit") {
    run_transaction();
  } else if (name == "format") {
    needs(2);
    const std::string format = lower(words[1]);
    if (format != "table" && format != "json" && format != "dynamo")
      throw std::runtime_error("the formats are table, json and dynamo");
    options_.format = format == "table"  ? Format::kTable
                      : format == "json" ? Format::kJson
                                         : Format::kDynamo;
  } else {
    throw std::runtime_error("see `help`");
  }
}

void Session::show_help() {
  print_(std::string(kHelp));
}

std::vector<std::string> Session::list_tables() {
  std::vector<std::string> names;
  std::string after;
  do {
    const json::Document answer =
        call("ListTables", after.empty() ? "{}" : request_with("ExclusiveStartTableName", after));
    for (const json::Element name : client::list_of(answer.root(), "TableNames"))
      names.emplace_back(name.get_string().value_unsafe());
    after = text_of(answer.root(), "LastEvaluatedTableName");
  } while (!after.empty());
  tables_ = {names.begin(), names.end()};
  tables_listed_ = true;
  return names;
}

void Session::show_tables() {
  std::vector<std::vector<std::string>> rows = {{"table", "status", "items", "bytes", "keys"}};
  for (const std::string& name : list_tables()) {
    const json::Document answer = call("DescribeTable", request_with("TableName", name));
    const json::Element table = *json::member(answer.root(), "Table");
    rows.push_back({name, std::string(text_of(table, "TableStatus")),
                    std::to_string(json::int_member(table, "ItemCount").value_or(0)),
                    std::to_string(json::int_member(table, "TableSizeBytes").value_or(0)),
                    keys_text(table, table)});
  }
  print_(rows.size() == 1 ? "no tables\n" : text_table(rows));
}

void Session::describe(const std::string& name) {
  const json::Document answer = call("DescribeTable", request_with("TableName", name));
  const json::Element table = *json::member(answer.root(), "Table");
  if (options_.format != Format::kTable) {
    print_(simdjson::minify(table) + "\n");
    return;
  }
  std::string out =
      fmt::format("{}: {}, {} items, {} bytes\n  keys: {}\n", name, text_of(table, "TableStatus"),
                  json::int_member(table, "ItemCount").value_or(0),
                  json::int_member(table, "TableSizeBytes").value_or(0), keys_text(table, table));
  for (const char* kind : {"GlobalSecondaryIndexes", "LocalSecondaryIndexes"}) {
    const auto indexes = json::array_member(table, kind);
    if (!indexes) continue;
    for (const json::Element index : *indexes) {
      const std::string_view status = text_of(index, "IndexStatus");
      out += fmt::format("  {} index {}{}{}: {}\n", kind[0] == 'G' ? "global" : "local",
                         text_of(index, "IndexName"), status.empty() ? "" : ", ", status,
                         keys_text(table, index));
    }
  }
  print_(out);
  learn_table(name);
}

void Session::count(const std::string& name) {
  int64_t items = 0;
  std::string start;
  do {
    std::string body;
    json::Object request(body);
    request.string("TableName", name);
    request.string("Select", "COUNT");
    if (!start.empty()) request.key("ExclusiveStartKey").append(start);
    request.close();
    const json::Document answer = call("Scan", body);
    items += json::int_member(answer.root(), "Count").value_or(0);
    const auto last = json::member(answer.root(), "LastEvaluatedKey");
    start = last ? simdjson::minify(*last) : "";
  } while (!start.empty());
  print_(fmt::format("{}\n", items));
}

void Session::create(const Words& words) {
  const std::string what = words.size() > 2 ? lower(words[1]) : "";
  std::string body;
  json::Object request(body);
  if (what == "table") {
    const KeyDefinition keys = read_keys(words, 3);
    request.string("TableName", words[2]);
    request.string("BillingMode", "PAY_PER_REQUEST");
    append_definitions(request, keys);
    append_schema(request, keys);
    request.close();
    call("CreateTable", body);
    tables_.insert(words[2]);
  } else if (what == "index" && words.size() > 5 && lower(words[3]) == "on") {
    const KeyDefinition keys = read_keys(words, 5);
    request.string("TableName", words[4]);
    append_definitions(request, keys);
    json::Array updates(request.key("GlobalSecondaryIndexUpdates"));
    json::Object update(updates.element());
    json::Object create(update.key("Create"));
    create.string("IndexName", words[2]);
    append_schema(create, keys);
    create.key("Projection").append(R"({"ProjectionType":"ALL"})");
    create.close();
    update.close();
    updates.close();
    request.close();
    call("UpdateTable", body);
  } else {
    throw std::runtime_error(
        "create table TABLE (PK S [, SK N]), or create index NAME on TABLE (PK S [, SK N])");
  }
  print_("created\n");
}

void Session::drop(const Words& words) {
  const std::string what = words.size() > 2 ? lower(words[1]) : "";
  if (what == "table" && words.size() == 3) {
    call("DeleteTable", request_with("TableName", words[2]));
    tables_.erase(words[2]);
  } else if (what == "index" && words.size() == 5 && lower(words[3]) == "on") {
    std::string body;
    json::Object request(body);
    request.string("TableName", words[4]);
    json::Array updates(request.key("GlobalSecondaryIndexUpdates"));
    json::Object update(updates.element());
    update.key("Delete").append(request_with("IndexName", words[2]));
    update.close();
    updates.close();
    request.close();
    call("UpdateTable", body);
  } else {
    throw std::runtime_error("drop table TABLE, or drop index NAME on TABLE");
  }
  print_("dropped\n");
}

void Session::run_statement(const std::string& statement) {
  next_statement_ = statement;
  next_token_.clear();
  if (starts_with(statement, "select")) {
    const std::string table = table_of(statement);
    if (options_.format == Format::kTable && !table.empty() && !keys_.contains(table)) {
      try {
        learn_table(table);
      } catch (const std::runtime_error&) {
        // The statement itself will say what is wrong.
      }
    }
    next_page();
    return;
  }
  sampled_.clear();  // there may be new names afterwards
  const json::Document answer = call("ExecuteStatement", request_with("Statement", statement));
  const auto items = json::array_member(answer.root(), "Items");
  if (items && items->size() > 0) {
    show_items(answer.root(), "Items");
  } else {
    print_("done\n");
  }
}

// The rows from next_token_ on: as many as fit on a screen, or all of them.
void Session::next_page() {
  if (next_statement_.empty()) throw std::runtime_error("there is no SELECT whose rows are left");
  size_t shown = 0;
  bool any = false;
  do {
    std::string body;
    json::Object request(body);
    request.string("Statement", next_statement_);
    if (!next_token_.empty()) request.string("NextToken", next_token_);
    if (options_.page_rows > 0)
      request.integer("Limit", static_cast<int64_t>(options_.page_rows - shown));
    request.close();
    const json::Document answer = call("ExecuteStatement", body);
    next_token_ = text_of(answer.root(), "NextToken");
    const size_t rows = client::list_of(answer.root(), "Items").size();
    if (rows > 0) show_items(answer.root(), "Items");
    any = any || rows > 0;
    shown += rows;
  } while (!next_token_.empty() && (options_.page_rows == 0 || shown < options_.page_rows));
  if (options_.format == Format::kTable) {
    if (!any) print_("no rows\n");
    if (!next_token_.empty()) print_("-- there are more rows: `more`\n");
  }
  if (next_token_.empty()) next_statement_.clear();
}

void Session::run_transaction() {
  if (!transaction_) throw std::runtime_error("there is no transaction: `begin` starts one");
  const std::vector<std::string> statements = std::move(*transaction_);
  transaction_.reset();
  if (statements.empty()) return;
  std::string body;
  json::Object request(body);
  json::Array list(request.key("TransactStatements"));
  for (const std::string& statement : statements)
    list.element().append(request_with("Statement", statement));
  list.close();
  request.close();
  const json::Document answer = call("ExecuteTransaction", body);
  std::vector<json::Element> items;
  if (const auto responses = json::array_member(answer.root(), "Responses")) {
    for (const json::Element response : *responses) {
      if (const auto item = json::member(response, "Item")) items.push_back(*item);
    }
  }
  if (items.empty()) {
    print_("committed\n");
    return;
  }
  for (const json::Element& item : items) {
    if (options_.format != Format::kTable)
      print_((options_.format == Format::kJson ? client::json_item(item) : simdjson::minify(item)) +
             "\n");
  }
  if (options_.format == Format::kTable) print_(item_table(items, {}));
}

void Session::show_items(const json::Element& answer, std::string_view list) {
  std::vector<json::Element> items;
  for (const json::Element item : client::list_of(answer, list)) {
    items.push_back(item);
    note_attributes(item);
  }
  if (options_.format == Format::kTable) {
    const auto keys = keys_.find(table_of(next_statement_));
    print_(item_table(items, keys != keys_.end() ? keys->second : std::vector<std::string>{}));
    return;
  }
  std::string out;
  for (const json::Element& item : items)
    out += (options_.format == Format::kJson ? client::json_item(item) : simdjson::minify(item)) +
           "\n";
  print_(out);
}

void Session::note_attributes(const json::Element& item) {
  constexpr size_t kMostNames = 10'000;
  simdjson::dom::object members;
  if (item.get(members) != simdjson::SUCCESS || attributes_.size() > kMostNames) return;
  for (const auto& member : members) attributes_.emplace(member.key);
}

void Session::learn_attributes(const std::string& table) {
  constexpr int64_t kSampledItems = 20;
  if (!sampled_.insert(table).second) return;
  if (!keys_.contains(table)) learn_table(table);
  std::string body;
  json::Object request(body);
  request.string("TableName", table);
  request.integer("Limit", kSampledItems);
  request.close();
  const json::Document answer = call("Scan", body);
  for (const json::Element item : client::list_of(answer.root(), "Items")) note_attributes(item);
}

void Session::learn_table(const std::string& name) {
  const json::Document answer = call("DescribeTable", request_with("TableName", name));
  const json::Element table = *json::member(answer.root(), "Table");
  std::vector<std::string>& keys = keys_[name];
  keys.clear();
  for (const json::Element key : client::list_of(table, "KeySchema"))
    keys.emplace_back(text_of(key, "AttributeName"));
  for (const json::Element attribute : client::list_of(table, "AttributeDefinitions"))
    attributes_.emplace(text_of(attribute, "AttributeName"));
  for (const char* kind : {"GlobalSecondaryIndexes", "LocalSecondaryIndexes"}) {
    const auto indexes = json::array_member(table, kind);
    if (!indexes) continue;
    for (const json::Element index : *indexes) attributes_.emplace(text_of(index, "IndexName"));
  }
}

std::vector<std::string> Session::complete(std::string_view before, std::string_view word) {
  std::vector<std::string> names;
  const auto offer = [&](const auto& from) {
    for (const std::string& name : from) {
      if (starts_with(name, word)) names.push_back(name);
    }
  };
  try {
    if (!tables_listed_) list_tables();
    // Attributes of the tables that the line names; of all of them, if they are few, where it names
    // none yet, as SELECT has its attributes first.
    constexpr size_t kFewTables = 8;
    bool any = false;
    for (const std::string& name : words_of(before)) {
      if (!tables_.contains(name)) continue;
      learn_attributes(name);
      any = true;
    }
    const bool is_start = before.find_first_not_of(" \t") == std::string_view::npos;
    if (!any && !is_start && !is_command(before) && tables_.size() <= kFewTables) {
      for (const std::string& name : std::set<std::string>(tables_)) learn_attributes(name);
    }
  } catch (const std::exception&) {
    // A name more or less is not worth an error while somebody types.
  }
  if (before.find_first_not_of(" \t") == std::string_view::npos) offer(command_names());
  offer(tables_);
  offer(attributes_);
  // "Ord" is the beginning of a name, not of ORDER BY.
  const bool one_case = word == lower(word) || std::none_of(word.begin(), word.end(), [](char c) {
                          return c >= 'a' && c <= 'z';
                        });
  if (!word.empty() && one_case && !is_command(before)) offer(keywords());
  return names;
}

}  // namespace stator::shell
