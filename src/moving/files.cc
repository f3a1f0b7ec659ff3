// Files and folders: DynamoDB JSON, plain JSON lines and CSV, compressed or not, and exports.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <stdexcept>

#include "json/reader.h"
#include "json/writer.h"
#include "moving/item_source.h"
#include "moving/typed_json.h"
#include "transfer/source.h"

namespace stator::moving {

namespace fs = std::filesystem;

namespace {

constexpr size_t kReadBytes = 256 * 1024;

bool ends_with(const std::string& text, std::string_view end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

transfer::Compression compression_of(const std::string& path) {
  if (ends_with(path, ".gz")) return transfer::Compression::kGzip;
  if (ends_with(path, ".zst")) return transfer::Compression::kZstd;
  return transfer::Compression::kNone;
}

// A file of this machine, decompressed as its name says.
class File final : public transfer::InflatedSource {
 public:
  explicit File(std::string path)
      : InflatedSource(compression_of(path)),
        path_(std::move(path)),
        file_(::open(path_.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (file_ < 0) throw std::runtime_error("cannot read " + path_ + ": " + std::strerror(errno));
  }
  ~File() override { ::close(file_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  std::string name() const override { return path_; }

 private:
  bool fetch(std::string& part) override {
    part.resize(kReadBytes);
    const ssize_t bytes = ::read(file_, part.data(), part.size());
    if (bytes < 0) throw std::runtime_error(std::strerror(errno));
    part.resize(static_cast<size_t>(bytes));
    return bytes > 0;
  }

  const std::string path_;
  const int file_;
};

// Reads a file record by record. The position is the number of records behind it.
class Records : public PartReader {
 public:
  Records(const std::string& path, const std::string& position)
      : file_(path), skip_(position.empty() ? 0 : std::stoull(position)) {}

  bool read(std::vector<Change>& changes, size_t most) override {
    const size_t before = changes.size();
    while (changes.size() - before < most) {
      const bool wanted = number_ >= skip_;
      if (!next(wanted, changes)) break;
      ++number_;
    }
    return changes.size() > before;
  }
  std::string position() const override { return std::to_string(number_); }
  uint64_t done() const override { return file_.done_bytes(); }

 protected:
  // Reads one record, and appends its change if it is wanted; false at the end.
  virtual bool next(bool wanted, std::vector<Change>& changes) = 0;
  std::runtime_error error(std::string_view what) const {
    return std::runtime_error(file_.name() + ": record " + std::to_string(number_ + 1) + ": " +
                              std::string(what));
  }

  File file_;

 private:
  const uint64_t skip_;
  uint64_t number_ = 0;
};

// What a line of a file is.
enum class LineKind { kWrapped, kChange, kTyped, kPlain };

class JsonLines final : public Records {
 public:
  JsonLines(const std::string& path, const std::string& position, std::optional<LineKind> kind)
      : Records(path, position), lines_(file_), kind_(kind) {}

 protected:
  bool next(bool wanted, std::vector<Change>& changes) override {
    std::optional<std::string_view> line;
    do {
      line = lines_.next();
      if (!line) return false;
      if (!line->empty() && line->back() == '\r') line->remove_suffix(1);
    } while (line->find_first_not_of(" \t") == std::string_view::npos);
    if (!wanted) return true;
    if (!kind_) kind_ = kind_of(*line);
    switch (*kind_) {
      case LineKind::kWrapped:
        changes.push_back({unwrap(*line), false});
        break;
      case LineKind::kChange:
        changes.push_back(change_of(*line));
        break;
      case LineKind::kTyped:
        changes.push_back({std::string(*line), false});
        break;
      case LineKind::kPlain:
        try {
          changes.push_back({typed_item(*line), false});
        } catch (const std::runtime_error& what) {
          throw error(what.what());
        }
        break;
    }
    return true;
  }

 private:
  LineKind kind_of(std::string_view line) const {
    json::Document document;
    if (!document.parse(std::string(line))) throw error("it is not JSON");
    const json::Element root = document.root();
    if (!root.is_object()) throw error("it is not a JSON object");
    const auto item = json::member(root, "Item");
    if (item && is_typed_item(*item)) return LineKind::kWrapped;
    const auto keys = json::member(root, "Keys");
    if (keys && json::member(root, "Metadata") && is_typed_item(*keys)) return LineKind::kChange;
    return is_typed_item(root) ? LineKind::kTyped : LineKind::kPlain;
  }

  // {"Item":{…}}: the object within, cut out where the line is as exports write it.
  std::string unwrap(std::string_view line) {
    constexpr std::string_view kBegin = R"({"Item":)";
    if (line.substr(0, kBegin.size()) == kBegin && line.size() > kBegin.size() + 2 &&
        line[kBegin.size()] == '{' && line.substr(line.size() - 2) == "}}")
      return std::string(line.substr(kBegin.size(), line.size() - kBegin.size() - 1));
    if (!document_.parse(std::string(line))) throw error("it is not JSON");
    const auto item = json::member(document_.root(), "Item");
    if (!item) throw error("it has no Item");
    return simdjson::minify(*item);
  }

  // A line of an incremental export: the newest image, or the key of what is gone.
  Change change_of(std::string_view line) {
    if (!document_.parse(std::string(line))) throw error("it is not JSON");
    if (const auto image = json::member(document_.root(), "NewImage"))
      return {simdjson::minify(*image), false};
    const auto keys = json::member(document_.root(), "Keys");
    if (!keys) throw error("it has no Keys");
    return {simdjson::minify(*keys), true};
  }

  transfer::LineReader lines_;
  json::Document document_;
  std::optional<LineKind> kind_;
};

class Csv final : public Records {
 public:
  Csv(const std::string& path, const std::string& position, char delimiter, const KeyTypes& types)
      : Records(path, position), records_(file_, delimiter), types_(types) {
    if (!records_.next(header_)) return;
    constexpr std::string_view kMark = "\xEF\xBB\xBF";  // some programs begin a file with it
    if (header_[0].compare(0, kMark.size(), kMark) == 0) header_[0].erase(0, kMark.size());
  }

 protected:
  bool next(bool wanted, std::vector<Change>& changes) override {
    if (header_.empty() || !records_.next(fields_)) return false;
    if (!wanted) return true;
    if (fields_.size() != header_.size()) {
      throw error("it has " + std::to_string(fields_.size()) + " fields, the header has " +
                  std::to_string(header_.size()));
    }
    std::string out;
    json::Object item(out);
    for (size_t i = 0; i < fields_.size(); ++i) {
      if (!simdjson::validate_utf8(fields_[i])) throw error(header_[i] + " is not UTF-8");
      json::Object value(item.key(header_[i]));
      value.string(type_of(header_[i]), fields_[i]);
      value.close();
    }
    item.close();
    changes.push_back({std::move(out), false});
    return true;
  }

 private:
  // All attributes are texts, but those that are keys of another type.
  std::string_view type_of(const std::string& name) const {
    for (const auto& [key, type] : types_) {
      if (key == name) return type;
    }
    return "S";
  }

  transfer::CsvReader records_;
  const KeyTypes& types_;
  std::vector<std::string> header_;
  std::vector<std::string> fields_;
};

class Files final : public Source, public NeedsKeyTypes {
 public:
  Files(std::vector<std::string> paths, FileFormat format, char delimiter,
        TableDefinition definition)
      : paths_(std::move(paths)),
        format_(format),
        delimiter_(delimiter),
        definition_(std::move(definition)) {
    for (const std::string& path : paths_) total_ += fs::file_size(path);
  }

  TableDefinition definition() const override { return definition_; }
  size_t part_count() const override { return paths_.size(); }
  std::unique_ptr<PartReader> open(size_t part, const std::string& position) override {
    const std::string& path = paths_.at(part);
    if (is_csv(path)) return std::make_unique<Csv>(path, position, delimiter_, types_);
    std::optional<LineKind> kind;
    if (format_ == FileFormat::kJson) kind = LineKind::kPlain;
    return std::make_unique<JsonLines>(path, position, kind);
  }
  uint64_t total() const override { return total_; }
  void set_key_types(KeyTypes types) override { types_ = std::move(types); }

 private:
  bool is_csv(const std::string& path) const {
    if (format_ != FileFormat::kDetect) return format_ == FileFormat::kCsv;
    return ends_with(path, ".csv") || ends_with(path, ".csv.gz") || ends_with(path, ".csv.zst");
  }

  const std::vector<std::string> paths_;
  const FileFormat format_;
  const char delimiter_;
  const TableDefinition definition_;
  KeyTypes types_;
  uint64_t total_ = 0;
};

std::string read_text(const fs::path& path) {
  File file(path.string());
  std::string text;
  while (file.read(text)) {
  }
  return text;
}

// The folder of an export: the one with manifest-summary.json, at or below `folder`.
std::optional<fs::path> find_export(const fs::path& folder) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().filename() == "manifest-summary.json")
      found.push_back(entry.path().parent_path());
  }
  if (found.empty()) return std::nullopt;
  if (found.size() > 1) {
    throw std::runtime_error(folder.string() + " holds " + std::to_string(found.size()) +
                             " exports: name one, such as " + found.front().string());
  }
  return found.front();
}

// The file that an object's key names. A copy of the bucket may begin with any part of the key: its
// prefix, AWSDynamoDB, or the export's own folder.
fs::path file_of_key(const fs::path& folder, const std::string& key) {
  constexpr int kMostLevels = 8;
  fs::path above = fs::absolute(folder);
  for (int level = 0; level < kMostLevels; ++level, above = above.parent_path()) {
    for (std::string_view rest = key;;) {
      if (fs::is_regular_file(above / rest)) return above / rest;
      const size_t slash = rest.find('/');
      if (slash == std::string_view::npos) break;
      rest.remove_prefix(slash + 1);
    }
  }
  throw std::runtime_error("the export in " + folder.string() + " lacks its data file " + key);
}

std::unique_ptr<Source> open_export(const fs::path& folder, char delimiter) {
  json::Document summary;
  if (!summary.parse(read_text(folder / "manifest-summary.json")))
    throw std::runtime_error((folder / "manifest-summary.json").string() + " is not JSON");
  const std::string format(json::string_member(summary.root(), "outputFormat").value_or(""));
  if (format == "ION")
    throw std::runtime_error(
        "the export in " + folder.string() +
        " is in the Ion format, which cannot be read: export it as DYNAMODB_JSON");
  if (!fs::exists(folder / "manifest-files.json"))
    throw std::runtime_error("the export in " + folder.string() + " has no manifest-files.json");

  std::vector<std::string> paths;
  File manifest((folder / "manifest-files.json").string());
  transfer::LineReader lines(manifest);
  while (const auto line = lines.next()) {
    if (line->find_first_not_of(" \t\r") == std::string_view::npos) continue;
    json::Document entry;
    if (!entry.parse(std::string(*line)))
      throw std::runtime_error(manifest.name() + " has a line that is not JSON");
    const auto key = json::string_member(entry.root(), "dataFileS3Key");
    if (!key) throw std::runtime_error(manifest.name() + " has a line without dataFileS3Key");
    paths.push_back(file_of_key(folder, std::string(*key)).string());
  }
  TableDefinition definition;
  const std::string arn(json::string_member(summary.root(), "tableArn").value_or(""));
  if (const size_t slash = arn.find('/'); slash != std::string::npos)
    definition.name = arn.substr(slash + 1);
  // Stator's own exports say beside AWS's files what the table is like.
  if (fs::exists(folder / "table.json"))
    definition.create_request = read_text(folder / "table.json");
  return std::make_unique<Files>(std::move(paths), FileFormat::kDynamoJson, delimiter,
                                 std::move(definition));
}

bool is_data_file(const fs::path& path) {
  std::string name = path.filename().string();
  for (const char* end : {".gz", ".zst"}) {
    if (ends_with(name, end)) name.resize(name.size() - std::strlen(end));
  }
  return ends_with(name, ".json") || ends_with(name, ".jsonl") || ends_with(name, ".ndjson") ||
         ends_with(name, ".csv");
}

bool looks_like_model(const std::string& path) {
  if (!ends_with(path, ".json")) return false;
  json::Document document;
  constexpr uintmax_t kMostBytes = 64 * 1024 * 1024;
  if (fs::file_size(path) > kMostBytes || !document.parse(read_text(path))) return false;
  return json::array_member(document.root(), "DataModel").has_value();
}

}  // namespace

std::vector<std::unique_ptr<Source>> open_files(const SourceOptions& options) {
  const fs::path from = options.from;
  std::error_code error;
  if (!fs::exists(from, error)) throw std::runtime_error("there is no file " + options.from);
  if (ends_with(options.from, ".ion") || ends_with(options.from, ".ion.gz"))
    throw std::runtime_error(options.from +
                             " is in the Ion format, which cannot be read: export it "
                             "as DYNAMODB_JSON");
  std::vector<std::unique_ptr<Source>> sources;
  if (fs::is_directory(from)) {
    if (const std::optional<fs::path> exported = find_export(from)) {
      sources.push_back(open_export(*exported, options.delimiter));
      return sources;
    }
    std::vector<std::string> paths;
    for (const auto& entry : fs::directory_iterator(from)) {
      if (entry.is_regular_file() && is_data_file(entry.path()))
        paths.push_back(entry.path().string());
    }
    if (paths.empty())
      throw std::runtime_error(options.from +
                               " holds neither an export (manifest-summary.json) nor data files "
                               "(.json, .jsonl, .csv, also with .gz or .zst)");
    std::sort(paths.begin(), paths.end());
    sources.push_back(std::make_unique<Files>(std::move(paths), options.format, options.delimiter,
                                              TableDefinition{}));
    return sources;
  }
  if (options.format == FileFormat::kWorkbench ||
      (options.format == FileFormat::kDetect && looks_like_model(options.from)))
    return open_workbench_model(options.from, options.table);
  sources.push_back(std::make_unique<Files>(std::vector<std::string>{options.from}, options.format,
                                            options.delimiter, TableDefinition{}));
  return sources;
}

std::vector<std::unique_ptr<Source>> open_sources(const SourceOptions& options,
                                                  const client::Environment& environment) {
  if (options.from.rfind("http://", 0) == 0 || options.from.rfind("https://", 0) == 0) {
    std::vector<std::unique_ptr<Source>> sources;
    sources.push_back(open_other_endpoint(options, environment));
    return sources;
  }
  return open_files(options);
}

}  // namespace stator::moving
