#include "server/local_arguments.h"

#include <fmt/format.h>

#include <algorithm>

#include "server/options.h"

namespace stator::server {

namespace {

struct LocalOption {
  std::string_view name;  // "-dbPath"
  bool has_value;
  std::string_view note;  // why it has no effect; empty if it has one
};

constexpr LocalOption kOptions[] = {
    {"-port", true, ""},
    {"-dbPath", true, ""},
    {"-inMemory", false, ""},
    {"-delayTransientStatuses", false, ""},
    {"-help", false, ""},
    {"-version", false, ""},
    // One store for all credentials and regions is the only way Stator works.
    {"-sharedDb", false, ""},
    {"-cors", true, "every origin is allowed"},
    {"-optimizeDbBeforeStartup", false, "the store keeps itself in order"},
    {"-disableTelemetry", false, ""},
    {"-telemetryEnabled", true, ""},
    {"-conditionalCheckFailedExceptionDisabled", false, "failed conditions are always answered"},
};

// How long DynamoDB Local lets a table be CREATING, UPDATING or DELETING when it is asked to.
constexpr std::string_view kTransientMs = "3000";

const LocalOption* find_option(std::string_view word) {
  // Its parser takes two hyphens as well.
  if (word.substr(0, 2) == "--") word.remove_prefix(1);
  const auto* const at =
      std::find_if(std::begin(kOptions), std::end(kOptions),
                   [&](const LocalOption& option) { return option.name == word; });
  return at != std::end(kOptions) ? at : nullptr;
}

}  // namespace

bool is_local_command(const std::vector<std::string>& arguments) {
  return std::any_of(arguments.begin(), arguments.end(), [](const std::string& word) {
    return word == "-jar" || word == "java" || word.rfind("-Djava", 0) == 0 ||
           (word.size() > 2 && word[0] == '-' && word[1] != '-' && find_option(word) != nullptr);
  });
}

LocalCommand translate_local_command(const std::vector<std::string>& arguments) {
  LocalCommand command;
  bool in_memory = false;
  std::string path;
  std::string port = "8000";
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    // What belongs to Java: the program itself, the archive, and options of the virtual machine.
    if (word == "java" || word.rfind("-D", 0) == 0 || word.rfind("-X", 0) == 0) continue;
    if (word == "-jar") {
      ++i;
      continue;
    }
    const LocalOption* option = find_option(word);
    if (option == nullptr)
      throw OptionsError(fmt::format("DynamoDB Local has no option '{}'", word));
    std::string value;
    if (option->has_value) {
      if (++i == arguments.size()) throw OptionsError(fmt::format("{} needs a value", word));
      value = arguments[i];
    }
    if (!option->note.empty())
      command.notes.push_back(fmt::format("{} has no effect: {}", option->name, option->note));
    if (option->name == "-port") port = value;
    if (option->name == "-dbPath") path = value;
    if (option->name == "-inMemory") in_memory = true;
    if (option->name == "-help") command.arguments.emplace_back("--help");
    if (option->name == "-version") command.arguments.emplace_back("--version");
    if (option->name == "-delayTransientStatuses")
      command.arguments.push_back(fmt::format("--table-delay-ms={}", kTransientMs));
  }
  if (in_memory && !path.empty())
    throw OptionsError("-dbPath and -inMemory cannot be used together");
  command.arguments.push_back("--port=" + port);
  if (in_memory) command.arguments.emplace_back("--in-memory");
  if (!path.empty()) command.arguments.push_back("--data-dir=" + path);
  return command;
}

}  // namespace stator::server
