#include "server/check_command.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <cstdio>

#include "database/check.h"
#include "engine/engine.h"
#include "server/options.h"

namespace stator::server {

namespace {

constexpr const char* kUsage =
    "stator check DIRECTORY\n\n"
    "Looks through the data directory of a server that is not running, and changes nothing in it:\n"
    "the checksums of all files and of the log, every record, every index entry against its item\n"
    "and every item against its entries, counters, the catalog, the order of stream records and\n"
    "whether they replay to their table, and the files of backups.\n\n"
    "Prints one line for each problem and a summary. Exits with 0 if there is no problem, with 1 "
    "if\n"
    "there is one, with 2 if there is nothing to look at (no such directory, or it is in use).\n";

void print(const std::string& line) {
  std::fputs((line + "\n").c_str(), stdout);
}

std::string number_of(uint64_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

}  // namespace

int run_check(const std::vector<std::string>& arguments) {
  if (arguments.size() == 1 && (arguments[0] == "--help" || arguments[0] == "-h")) {
    std::fputs(kUsage, stdout);
    return 0;
  }
  if (arguments.size() != 1 || arguments[0].starts_with("-"))
    throw OptionsError("check needs one data directory: stator check DIRECTORY");
  spdlog::set_level(spdlog::level::off);  // what the store says is among the problems
  CheckReport report;
  try {
    report = check_directory(arguments[0]);
  } catch (const engine::EngineError& error) {
    std::fprintf(stderr, "stator: %s\n", error.what());
    return 2;
  }
  for (const std::string& remark : report.remarks) print("Note: " + remark + ".");
  for (const std::string& problem : report.problems) print("Problem: " + problem);
  if (report.problem_count > report.problems.size())
    print(fmt::format("… and {} more", report.problem_count - report.problems.size()));
  print(fmt::format(
      "{}: {}, {}, {}, {}, {}, {}; {}.", arguments[0], number_of(report.files, "file", "files"),
      number_of(report.tables, "table", "tables"), number_of(report.items, "item", "items"),
      number_of(report.index_entries, "index entry", "index entries"),
      number_of(report.stream_records, "stream record", "stream records"),
      number_of(report.backups, "backup", "backups"),
      report.problem_count == 0
          ? "no problem found"
          : number_of(report.problem_count, "problem", "problems") + " found"));
  return report.problem_count == 0 ? 0 : 1;
}

}  // namespace stator::server
