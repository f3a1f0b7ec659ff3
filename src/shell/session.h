// What the shell does with a statement: sends PartiQL, runs its own commands, shows what comes
// back.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "client/endpoint.h"
#include "json/reader.h"
#include "shell/render.h"

namespace stator::shell {

class Session {
 public:
  using Print = std::function<void(const std::string&)>;
  struct Options {
    Format format = Format::kTable;
    // Rows of a SELECT to show at a time, the rest with `more`; 0: all.
    size_t page_rows = 0;
  };

  // `endpoint` outlives the session.
  Session(client::Endpoint& endpoint, Options options, Print print);

  // Throws client::ServiceError or std::runtime_error.
  void run(const std::string& statement);
  bool ended() const { return ended_; }
  bool in_transaction() const { return transaction_.has_value(); }

  // Names for completion.
  std::vector<std::string> complete(std::string_view before, std::string_view word);

 private:
  using Words = std::vector<std::string>;

  void run_command(const Words& words);
  void run_statement(const std::string& statement);
  void run_transaction();
  void show_help();
  void show_tables();
  void describe(const std::string& table);
  void count(const std::string& table);
  void create(const Words& words);
  void drop(const Words& words);
  void next_page();
  void show_items(const json::Element& answer, std::string_view list);

  // Sends once: what a person typed is not repeated behind their back.
  json::Document call(std::string_view operation, std::string body);
  std::vector<std::string> list_tables();
  void learn_table(const std::string& name);
  // The names of attributes that some of its items have.
  void learn_attributes(const std::string& table);
  void note_attributes(const json::Element& item);

  client::Endpoint& endpoint_;
  Options options_;
  Print print_;
  bool ended_ = false;
  std::optional<std::vector<std::string>> transaction_;
  std::string next_token_;
  std::string next_statement_;
  std::set<std::string> tables_;
  std::set<std::string> attributes_;
  std::set<std::string> sampled_;  // tables whose items were looked at for names
  std::map<std::string, std::vector<std::string>> keys_;  // of tables that were described
  bool tables_listed_ = false;
};

}  // namespace stator::shell
