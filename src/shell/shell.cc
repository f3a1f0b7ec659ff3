#include "shell/shell.h"

#include <unistd.h>
#include <CLI/CLI.hpp>

#include <clocale>
#include <cstdio>
#include <iostream>
#include <memory>

#include "client/endpoint.h"
#include "shell/input.h"
#include "shell/line_editor.h"
#include "shell/session.h"

namespace stator::shell {

namespace {

// Rows shown at a time to somebody who sits in front of them.
constexpr size_t kScreenRows = 100;

void print(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

// False if the statement failed; the error is printed.
bool run_one(Session& session, const std::string& statement) {
  try {
    session.run(statement);
    return true;
  } catch (const client::ServiceError& error) {
    std::fprintf(stderr, "%s: %s\n", error.type().c_str(), error.what());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
  return false;
}

int run_pipe(Session& session, std::istream& in) {
  Input input;
  bool all_well = true;
  for (std::string line; !session.ended() && std::getline(in, line);) {
    for (const std::string& statement : input.take(line)) {
      if (!session.ended()) all_well = run_one(session, statement) && all_well;
    }
  }
  if (const auto rest = input.rest(); rest && !session.ended())
    all_well = run_one(session, *rest) && all_well;
  return all_well ? 0 : 1;
}

int run_terminal(Session& session, const client::Endpoint& endpoint, const std::string& history) {
  std::printf("Stator shell at %s; `help` for help\n", endpoint.name().c_str());
  LineEditor editor(history, [&](std::string_view before, std::string_view word) {
    return session.complete(before, word);
  });
  Input input;
  while (!session.ended()) {
    const char* prompt = input.pending()            ? "   ...> "
                         : session.in_transaction() ? "stator*> "
                                                    : "stator> ";
    const std::optional<std::string> line = editor.read(prompt);
    if (!line) {
      std::fputc('\n', stdout);
      break;
    }
    if (editor.cancelled()) input.clear();
    for (const std::string& statement : input.take(*line)) {
      editor.remember(is_command(statement) ? statement : statement + ";");
      if (!session.ended()) run_one(session, statement);
    }
  }
  return 0;
}

}  // namespace

int run(const std::vector<std::string>& arguments, const client::Environment& environment) {
  CLI::App app(
      "PartiQL and table commands, at a prompt or in a pipe, at any DynamoDB endpoint. Credentials "
      "and region are those of the environment or of a profile, as for the AWS CLI.",
      "stator shell");
  client::EndpointOptions endpoint_options;
  std::string format = "table";
  std::vector<std::string> commands;
  app.add_option("--endpoint", endpoint_options.url, "where the tables are")
      ->type_name("URL")
      ->capture_default_str();
  app.add_option("--region", endpoint_options.region, "region to sign for")->type_name("REGION");
  app.add_option("--profile", endpoint_options.profile, "profile with credentials and region")
      ->type_name("NAME");
  app.add_option("--format", format, "how items are shown: table, json or dynamo")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"table", "json", "dynamo"}))
      ->capture_default_str();
  app.add_option("-c,--command", commands, "runs these statements instead of reading some")
      ->type_name("STATEMENTS");
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::CallForHelp&) {
    print(app.help());
    return 0;
  } catch (const CLI::ParseError& error) {
    std::fprintf(stderr, "stator shell: %s\n", error.what());
    return 2;
  }
  std::setlocale(LC_CTYPE, "C.UTF-8");

  try {
    const std::unique_ptr<client::Endpoint> endpoint =
        client::open_endpoint(endpoint_options, environment);
    Session::Options options;
    options.format = format == "table"  ? Format::kTable
                     : format == "json" ? Format::kJson
                                        : Format::kDynamo;
    const bool terminal = commands.empty() && isatty(STDIN_FILENO) == 1;
    if (terminal) options.page_rows = kScreenRows;
    Session session(*endpoint, options, print);
    if (!commands.empty()) {
      std::string text;
      for (const std::string& command : commands) text += command + "\n";
      std::istringstream in(text);
      return run_pipe(session, in);
    }
    if (!terminal) return run_pipe(session, std::cin);
    const auto home = environment("HOME");
    return run_terminal(session, *endpoint, home ? *home + "/.stator_history" : std::string());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "stator shell: %s\n", error.what());
    return 1;
  }
}

}  // namespace stator::shell
