#include "moving/command.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <map>
#include <memory>
#include <optional>

#include "common/log.h"
#include "json/writer.h"
#include "moving/embedded.h"
#include "moving/export.h"
#include "moving/import.h"
#include "moving/item_source.h"
#include "moving/progress.h"

namespace stator::moving {

namespace {

// Where the tables are: an endpoint, or a data directory that no server uses.
struct Place {
  std::string endpoint;
  std::string directory = "stator-data";
  std::string region;
  std::string profile;

  void add_to(CLI::App& app) {
    app.add_option("--endpoint", endpoint, "the endpoint whose table it is")->type_name("URL");
    app.add_option("--data-dir", directory,
                   "without --endpoint: the data directory, which no server may use meanwhile")
        ->type_name("DIRECTORY")
        ->capture_default_str();
    app.add_option("--region", region, "region to sign for")->type_name("REGION");
    app.add_option("--profile", profile, "profile with credentials and region")->type_name("NAME");
  }
  std::unique_ptr<client::Endpoint> open(const client::Environment& environment) const {
    if (endpoint.empty()) return open_directory(directory);
    client::EndpointOptions options;
    options.url = endpoint;
    options.region = region;
    options.profile = profile;
    return client::open_endpoint(options, environment);
  }
  std::string name() const { return endpoint.empty() ? directory : endpoint; }
};

// "PK:S,SK:N" as a CreateTable request without the name.
std::string request_of_keys(const std::string& keys) {
  std::string out;
  std::string definitions;
  json::Object request(out);
  json::Array schema(request.key("KeySchema"));
  json::Array types(definitions);
  size_t count = 0;
  for (size_t begin = 0; begin <= keys.size();) {
    const size_t comma = std::min(keys.find(',', begin), keys.size());
    const std::string key = keys.substr(begin, comma - begin);
    const size_t colon = key.rfind(':');
    const std::string type = colon == std::string::npos ? "" : key.substr(colon + 1);
    if (type != "S" && type != "N" && type != "B")
      throw std::runtime_error(
          "--key is written as NAME:TYPE or NAME:TYPE,NAME:TYPE, with the types "
          "S, N and B");
    json::Object entry(schema.element());
    entry.string("AttributeName", key.substr(0, colon));
    entry.string("KeyType", count == 0 ? "HASH" : "RANGE");
    entry.close();
    json::Object definition(types.element());
    definition.string("AttributeName", key.substr(0, colon));
    definition.string("AttributeType", type);
    definition.close();
    ++count;
    begin = comma + 1;
  }
  schema.close();
  types.close();
  request.key("AttributeDefinitions").append(definitions);
  request.string("BillingMode", "PAY_PER_REQUEST");
  request.close();
  return out;
}

// Nothing to do any more: help was printed, or the arguments are wrong.
std::optional<int> parse(CLI::App& app, const std::vector<std::string>& arguments) {
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
    return std::nullopt;
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help().c_str(), stdout);
    return 0;
  } catch (const CLI::ParseError& error) {
    std::fprintf(stderr, "%s: %s\n", app.get_name().c_str(), error.what());
    return 2;
  }
}

std::string state_file(const std::string& command, const std::string& table) {
  return fmt::format("stator-{}-{}.state", command, table);
}

}  // namespace

int run_import(const std::vector<std::string>& arguments, const client::Environment& environment) {
  CLI::App app(
      "Writes items into a table, creating it where the source says how. It reads DynamoDB JSON "
      "and "
      "plain JSON lines, CSV with a header (all also with .gz or .zst), folders of such files, "
      "exports to S3 as AWS and Stator write them, models of NoSQL Workbench, and another "
      "endpoint. "
      "An interrupted import goes on where it was when it is started again with the same "
      "arguments.",
      "stator import");
  Place place;
  place.add_to(app);
  SourceOptions source_options;
  ImportOptions options;
  std::string key;
  std::string delimiter = ",";
  std::map<std::string, FileFormat> formats = {{"detect", FileFormat::kDetect},
                                               {"dynamodb-json", FileFormat::kDynamoJson},
                                               {"json", FileFormat::kJson},
                                               {"csv", FileFormat::kCsv},
                                               {"workbench", FileFormat::kWorkbench}};
  std::string state;
  std::string from_table;
  app.add_option("--from", source_options.from, "a file, a folder, or the URL of an endpoint")
      ->type_name("FILE|DIR|URL")
      ->required();
  app.add_option("--table", options.table,
                 "the table to write to; of a model: all of its tables if not given")
      ->type_name("TABLE");
  app.add_option("--from-table", from_table, "the table there, if it has another name")
      ->type_name("TABLE");
  app.add_option("--format", source_options.format,
                 "of files: detect, dynamodb-json, json, csv or workbench")
      ->type_name("FORMAT")
      ->transform(CLI::CheckedTransformer(formats).description(""))
      ->default_str("detect");
  app.add_option("--key", key, "creates the table with these keys if it is not there: PK:S,SK:N")
      ->type_name("KEYS");
  app.add_option("--delimiter", delimiter, "of CSV")->type_name("CHARACTER")->capture_default_str();
  app.add_option("--segments", source_options.segments, "of the parallel scan of an endpoint")
      ->type_name("N")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  std::optional<size_t> writers;
  app.add_option("--concurrency", writers,
                 fmt::format("requests under way [{}; {} in a data directory]", kEndpointWriters,
                             kDirectoryWriters))
      ->type_name("N")
      ->check(CLI::Range(1, 256));
  app.add_option("--state", state, "where it notes how far it is (stator-import-TABLE.state)")
      ->type_name("FILE");
  app.add_flag("--quiet", options.quiet, "no progress");
  if (const std::optional<int> code = parse(app, arguments)) return *code;
  start_logging(spdlog::level::warn);

  try {
    if (delimiter.size() != 1) throw std::runtime_error("--delimiter is one character");
    source_options.delimiter = delimiter[0];
    options.writers =
        writers.value_or(place.endpoint.empty() ? kDirectoryWriters : kEndpointWriters);
    source_options.table = !from_table.empty() ? from_table : options.table;
    source_options.region = place.region;
    source_options.profile = place.profile;
    const std::unique_ptr<client::Endpoint> endpoint = place.open(environment);
    std::vector<std::unique_ptr<Source>> sources = open_sources(source_options, environment);
    if (sources.size() > 1 && !options.table.empty() && from_table.empty())
      throw std::runtime_error("the source has several tables");
    const std::string asked = options.table;
    uint64_t failed = 0;
    for (const std::unique_ptr<Source>& source : sources) {
      const TableDefinition definition = source->definition();
      options.table = !asked.empty() ? asked : definition.name;
      if (options.table.empty()) throw std::runtime_error("--table is required");
      options.state = !state.empty() ? state : state_file("import", options.table);
      // Positions are those of a part, so another number of parts is other work.
      options.what = fmt::format("import of {} from {} in {} parts into {}", options.table,
                                 source_options.from, source->part_count(), place.name());
      const std::string request = !key.empty() ? request_of_keys(key) : definition.create_request;
      if (ensure_table(*endpoint, options.table, request))
        std::printf("created the table %s\n", options.table.c_str());
      const ImportResult result = import_items(*source, *endpoint, options);
      std::printf(
          "imported %s items into %s in %.1f s (%s a second)%s%s\n", grouped(result.items).c_str(),
          options.table.c_str(), result.seconds,
          grouped(static_cast<uint64_t>(static_cast<double>(result.items) /
                                        std::max(result.seconds, 0.001)))
              .c_str(),
          result.resumed_items > 0
              ? fmt::format(", after {} before", grouped(result.resumed_items)).c_str()
              : "",
          result.failed > 0 ? fmt::format(", {} refused", grouped(result.failed)).c_str() : "");
      failed += result.failed;
    }
    return failed > 0 ? 1 : 0;
  } catch (const client::ServiceError& error) {
    std::fprintf(stderr, "stator import: %s: %s\n", error.type().c_str(), error.what());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "stator import: %s\n", error.what());
  }
  return 1;
}

int run_export(const std::vector<std::string>& arguments, const client::Environment& environment) {
  CLI::App app(
      "Writes a table to files: in the layout of an export to S3 (gzip of DynamoDB JSON with its "
      "manifests), or as CSV. An interrupted export goes on where it was when it is started again "
      "with the same arguments. Items written meanwhile may be in it or not.",
      "stator export");
  Place place;
  place.add_to(app);
  ExportOptions options;
  std::string format = "dynamodb-json";
  std::string to;
  std::string state;
  app.add_option("--table", options.table, "the table to read")->type_name("TABLE")->required();
  app.add_option("--to", to, "the folder to write to; it is made")->type_name("DIR")->required();
  app.add_option("--format", format, "dynamodb-json or csv")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"dynamodb-json", "csv"}))
      ->capture_default_str();
  app.add_option("--segments", options.segments, "of the parallel scan")
      ->type_name("N")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--state", state, "where it notes how far it is (stator-export-TABLE.state)")
      ->type_name("FILE");
  app.add_flag("--quiet", options.quiet, "no progress");
  if (const std::optional<int> code = parse(app, arguments)) return *code;
  start_logging(spdlog::level::warn);

  try {
    options.to = to;
    options.is_csv = format == "csv";
    options.state = !state.empty() ? state : state_file("export", options.table);
    options.what = fmt::format("export of {} from {} in {} parts to {} as {}", options.table,
                               place.name(), options.segments, to, format);
    const std::unique_ptr<client::Endpoint> endpoint = place.open(environment);
    const ExportResult result = export_table(*endpoint, options);
    std::printf("exported %s items of %s in %.1f s to %s\n", grouped(result.items).c_str(),
                options.table.c_str(), result.seconds, result.folder.c_str());
    return 0;
  } catch (const client::ServiceError& error) {
    std::fprintf(stderr, "stator export: %s: %s\n", error.type().c_str(), error.what());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "stator export: %s\n", error.what());
  }
  return 1;
}

}  // namespace stator::moving
