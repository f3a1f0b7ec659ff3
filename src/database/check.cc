#include "database/check.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "catalog/backups.h"
#include "catalog/catalog.h"
#include "catalog/record_check.h"
#include "catalog/stream.h"
#include "catalog/table_codec.h"
#include "common/hex.h"
#include "database/check_findings.h"
#include "database/check_streams.h"
#include "database/check_table.h"
#include "engine/rocksdb/offline_store.h"
#include "model/key_codec.h"
#include "store/history.h"

namespace stator {

namespace check {

int64_t counter_value(const std::optional<std::string>& stored) {
  if (!stored) return 0;
  if (stored->size() != sizeof(uint64_t)) throw CorruptRecord("a counter of another length");
  uint64_t value = 0;
  for (size_t i = stored->size(); i-- > 0;)
    value = value << 8 | static_cast<unsigned char>((*stored)[i]);
  return static_cast<int64_t>(value);
}

std::string describe_key(const model::KeySchema& key, const model::Item& item) {
  constexpr size_t kMostBytes = 60;
  std::string text;
  for (size_t i = 0; i < key.size(); ++i) {
    const model::Value* const value = item.find(key.at(i).name);
    std::string shown = "?";
    if (value != nullptr && value->is(model::Type::kString)) shown = value->as_string();
    if (value != nullptr && value->is(model::Type::kNumber)) shown = value->as_number().to_string();
    if (value != nullptr && value->is(model::Type::kBinary)) shown = to_hex(value->as_binary());
    if (shown.size() > kMostBytes) shown = shown.substr(0, kMostBytes) + "…";
    std::replace_if(
        shown.begin(), shown.end(), [](unsigned char c) { return c < ' ' || c == 0x7f; }, '?');
    text += fmt::format("{}{}={}:{}", i == 0 ? "" : ", ", key.at(i).name,
                        model::key_type_name(key.at(i).type), shown);
  }
  return text;
}

}  // namespace check

namespace {

// The parts of the key space; what is the engine's own is the engine's affair.
constexpr std::string_view kParts = "chmtx\xff";

class Check {
 public:
  explicit Check(const std::filesystem::path& directory) : store_(directory) {}

  CheckReport run() {
    if (!store_.failure().empty()) findings_.problem(store_.failure());
    check_files();
    if (!store_.is_readable()) return std::move(findings_.report);
    // Where a file is damaged its rows cannot be read: then that is what is said.
    const bool has_catalog = findings_.guarded("the catalog", [&] { check_catalog(); });
    for (const auto& [number, table] : tables_) check::TableCheck(store_, table, findings_).run();
    for (const catalog::Stream& stream : streams_) {
      const auto table = tables_.find(stream.id.table);
      check::StreamCheck(store_, stream, table == tables_.end() ? nullptr : &table->second,
                         findings_)
          .run();
    }
    findings_.guarded("the history of items", [&] { check_history(); });
    findings_.guarded("the idempotency tokens", [&] { check_tokens(); });
    // Without the catalog everything would be a stranger.
    if (has_catalog) findings_.guarded("the tables' data", [&] { look_for_strangers(); });
    return std::move(findings_.report);
  }

 private:
  void check_files() {
    const engine::OfflineStore::Files files = store_.read_files();
    findings_.report.files = files.count;
    for (const std::string& damage : files.damaged) findings_.problem("file " + damage);
    for (const std::string& name : files.left_over) {
      findings_.report.remarks.push_back(
          "file " + name +
          " is no part of the data: a server that was killed left it; the next start removes it");
    }
    if (files.ends_in_a_torn_record) {
      findings_.report.remarks.push_back(
          "the log ends in the middle of a commit that was never acknowledged; the next start "
          "drops it");
    }
  }

  void check_catalog() {
    std::optional<uint64_t> last_number;
    std::set<model::TableNumber> guards;
    store_.for_each("m", [&](std::string_view key, std::string_view value) {
      const std::string_view kind = key.substr(0, 2);
      std::string_view rest = key.substr(std::min<size_t>(2, key.size()));
      findings_.guarded("the catalog, record " + printable(key), [&] {
        catalog::check_record(key, value);
        if (kind == "ma") last_number = read_big_endian<uint64_t>(value);
        if (kind == "mn") take_table(std::string(rest), value);
        if (kind == "mg") guards.insert(read_big_endian<model::TableNumber>(rest));
        if (kind == "md") numbers_.insert(read_big_endian<model::TableNumber>(rest));
        if (kind == "mr") streams_.push_back(catalog::decode_stream(value));
        if (kind == "mb") take_backup(catalog::decode_backup(value));
      });
    });
    for (const model::TableNumber number : numbers_) {
      if (number > last_number.value_or(0))
        findings_.problem(fmt::format("table number {} is used, and was never given", number));
    }
    for (const model::TableNumber number : guards) {
      if (!tables_.contains(number))
        findings_.problem(fmt::format("a guard of table number {}, which is not there", number));
    }
    check_captures();
  }

  void take_table(const std::string& name, std::string_view record) {
    catalog::Table table = catalog::decode_table(record);
    const model::TableNumber number = table.schema->number;
    if (table.name() != name)
      findings_.problem("table " + name + " has the record of table " + table.name());
    if (!numbers_.insert(number).second && tables_.contains(number))
      findings_.problem("table " + name + " has the number of another table");
    if (table.deleted_at_ms) return;  // its data may be half erased
    const auto guard = store_.get(catalog::schema_guard_key(number));
    if (guard != catalog::encode_schema_version(table.schema->version))
      findings_.problem("table " + name + ": its guard is not of its schema's version");
    tables_.insert_or_assign(number, std::move(table));
  }

  void take_backup(const catalog::Backup& backup) {
    ++findings_.report.backups;
    if (backup.system) numbers_.insert(backup.table.schema->number);
    if (backup.system || !backup.available) return;
    const std::vector<std::string> copies = store_.copies();
    if (std::find(copies.begin(), copies.end(), backup.id) == copies.end())
      findings_.problem(fmt::format("backup {}: its copy of the store is missing", backup.arn()));
  }

  // Tables and streams name each other.
  void check_captures() {
    for (const auto& [number, table] : tables_) {
      for (const model::Capture& capture : table.schema->captures) {
        const bool there =
            std::any_of(streams_.begin(), streams_.end(), [&](const catalog::Stream& stream) {
              return stream.id == catalog::StreamId{number, capture.stream} && !stream.disabled_ms;
            });
        if (!there)
          findings_.problem(fmt::format(
              "table {}: it records its changes in a stream that is not open", table.name()));
      }
    }
  }

  void check_history() {
    store_.for_each("h", [&](std::string_view key, std::string_view value) {
      findings_.guarded("the history of items, a row", [&] {
        store::check_history_row(key, value);
        std::string_view rest = key.substr(1);
        note_stranger(read_big_endian<model::TableNumber>(rest), "history");
      });
    });
  }

  // A token and its place among those that expire are written and erased together.
  void check_tokens() {
    store_.for_each("xt", [&](std::string_view key, std::string_view value) {
      findings_.guarded("an idempotency token", [&] {
        if (value.size() < 9) throw CorruptRecord("its record is too short");
        std::string place = "xe";
        place.append(value.substr(1, 8)).append(key.substr(2));
        if (!store_.get(place)) throw CorruptRecord("it does not expire");
      });
    });
  }

  // Data of tables and streams that the catalog does not know, and what has no meaning at all.
  void look_for_strangers() {
    for (std::string from(1, '\0');;) {
      const auto key = store_.first_key(from);
      if (!key) break;
      if (kParts.find(key->front()) == std::string_view::npos)
        findings_.problem("rows of an unknown kind: " + printable(*key));
      from = prefix_end(key->substr(0, 1));
      if (from.empty()) break;
    }
    for (const char part : std::string("tc")) {
      for (std::string from(1, part);;) {
        const auto key = store_.first_key(from);
        if (!key || key->front() != part) break;
        std::string_view rest = std::string_view(*key).substr(1);
        const auto number = read_big_endian<model::TableNumber>(rest);
        if (part == 't') note_stranger(number, "data");
        if (part == 'c' && std::none_of(streams_.begin(), streams_.end(), [&](const auto& stream) {
              return stream.id.table == number;
            })) {
          findings_.problem(
              fmt::format("stream records of table number {}, which has no stream", number));
        }
        from = prefix_end(key->substr(0, 1 + sizeof(number)));
        if (from.empty()) break;
      }
    }
  }

  void note_stranger(model::TableNumber number, std::string_view what) {
    if (numbers_.contains(number) || !strangers_.emplace(number, what).second) return;
    findings_.problem(
        fmt::format("{} of table number {}, which is not in the catalog", what, number));
  }

  static std::string printable(std::string_view key) {
    std::string text;
    for (const char c : key.substr(0, 60)) {
      if (c > ' ' && c < 0x7f)
        text.push_back(c);
      else
        text += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
    return text;
  }

  engine::OfflineStore store_;
  check::Findings findings_;
  std::map<model::TableNumber, catalog::Table> tables_;  // those that are there
  std::vector<catalog::Stream> streams_;
  std::set<model::TableNumber> numbers_;  // of tables that are there or still to be erased
  std::set<std::pair<model::TableNumber, std::string_view>> strangers_;
};

}  // namespace

CheckReport check_directory(const std::filesystem::path& directory) {
  return Check(directory).run();
}

}  // namespace stator
