// Fills the tables of imports. How far an import has come is kept in the commits that put its
// items.
#include <spdlog/spdlog.h>

#include <chrono>
#include <deque>
#include <fstream>

#include "catalog/table_codec.h"
#include "json/writer.h"
#include "store/put_all.h"
#include "transfer/item_reader.h"
#include "work/jobs.h"
#include "work/transfer_failure.h"
#include "work/turns.h"

namespace stator::work {

namespace {

using catalog::Import;
using catalog::ImportProgress;
using catalog::TransferStatus;
using objects::ObjectError;
using SteadyTime = std::chrono::steady_clock::time_point;

// How long one import is worked at before others get their turn.
constexpr std::chrono::milliseconds kTurn{200};
constexpr std::chrono::seconds kReportEvery{10};
constexpr size_t kListedAtOnce = 1000;
constexpr size_t kMaxItemsInCommit = 4096;
constexpr int64_t kMaxLoggedErrors = 10'000;
constexpr int64_t kErrorsInProcessLog = 10;

constexpr std::string_view kSomeFailed =
    "Some of the items failed validation checks and were not imported. Please check CloudWatch "
    "error logs for more details.";

transfer::ImportFormat format_of(const Import& import) {
  transfer::ImportFormat format;
  if (import.format == "CSV") format.kind = transfer::ImportFormat::Kind::kCsv;
  if (import.compression == "GZIP") format.compression = transfer::Compression::kGzip;
  if (import.compression == "ZSTD") format.compression = transfer::Compression::kZstd;
  format.delimiter = import.delimiter.at(0);
  format.header = import.header;
  return format;
}

// What the service writes to CloudWatch Logs: a line for each record that is no item.
class ErrorLog {
 public:
  ErrorLog(const std::filesystem::path& folder, const Import& import, int64_t size)
      : import_(import) {
    if (folder.empty()) return;
    const std::filesystem::path path = folder / import.id / "error";
    std::error_code error;
    std::filesystem::create_directories(path.parent_path(), error);
    // What follows was written by a try whose work was lost.
    if (std::filesystem::exists(path, error)) {
      std::filesystem::resize_file(path, static_cast<uint64_t>(size), error);
    }
    out_.open(path, std::ios::app | std::ios::binary);
    if (!out_) spdlog::warn("cannot write {}: errors of the import are not kept", path.string());
  }

  void add(const std::string& key, uint64_t index, const std::string& message,
           ImportProgress& progress) {
    if (progress.errors <= kErrorsInProcessLog) {
      spdlog::warn("import {}: {}/{}, item {}: {}", import_.id, import_.bucket, key, index,
                   message);
    }
    if (!out_.is_open() || progress.errors > kMaxLoggedErrors) return;
    std::string line;
    json::Object object(line);
    json::Object pointer(object.key("itemS3Pointer"));
    pointer.string("bucket", import_.bucket);
    pointer.string("key", key);
    pointer.integer("itemIndex", static_cast<int64_t>(index));
    pointer.close();
    object.string("importArn", import_.arn);
    json::Array messages(object.key("errorMessages"));
    json::append_quoted(messages.element(), message);
    messages.close();
    object.close();
    line.push_back('\n');
    out_.write(line.data(), static_cast<std::streamsize>(line.size()));
    progress.log_bytes += static_cast<int64_t>(line.size());
  }
  void flush() { out_.flush(); }

 private:
  const Import& import_;
  std::ofstream out_;
};

// One import as far as it is in memory; a crash loses nothing but this.
class Running {
 public:
  Running(const TransferSite& site, catalog::ImportPtr import)
      : site_(site),
        import_(std::move(import)),
        format_(format_of(*import_)),
        progress_(site_.transfers.progress(*import_)),
        log_(site_.import_logs, *import_, progress_.log_bytes) {
    spdlog::info("import {} of {}/{} into table {} {}", import_->id, import_->bucket,
                 import_->prefix, import_->table_name,
                 progress_.processed_items > 0 ? "goes on" : "begins");
  }

  // Works for a while. True if there is more to do.
  bool advance() {
    try {
      if (table_ == nullptr && !find_table()) return false;
      const SteadyTime end = std::chrono::steady_clock::now() + kTurn;
      do {
        if (items_ == nullptr && !open_next()) {
          finish();
          return false;
        }
        if (record_ < progress_.records) {
          read_over_some();
        } else if (!import_some()) {
          fail("TableNotFound", "The table was deleted while it was imported into");
          return false;
        }
      } while (std::chrono::steady_clock::now() < end);
      patience_.calm();
    } catch (const ObjectError& error) {
      return take(error);
    }
    report();
    return true;
  }
  bool is_over() const { return is_over_; }

 private:
  // The table to fill, which is made here. False if the import has failed.
  bool find_table() {
    const auto known = site_.site.catalog.find(import_->table_name);
    if (known && known->id == import_->table_id) {
      table_ = known;
      return true;
    }
    if (progress_.has_table) {
      fail("TableNotFound", "The table was deleted while it was imported into");
      return false;
    }
    list_more();  // without its bucket an import makes no table
    catalog::Table asked = catalog::decode_table(import_->table_record);
    asked.id = import_->table_id;
    asked.active_at_ms = catalog::kNotYet;
    table_ = run_blocking(site_.site.catalog.create(std::move(asked)));
    if (table_ == nullptr) {
      fail("TableAlreadyExists", "Table already exists: " + import_->table_name);
      return false;
    }
    progress_.has_table = true;
    return keep({});
  }

  void list_more() {
    if (all_listed_) return;
    const std::string after = objects_.empty() ? progress_.done_key : objects_.back().key;
    auto found = site_.objects.list(import_->bucket, import_->prefix, after, kListedAtOnce);
    all_listed_ = found.size() < kListedAtOnce;
    for (auto& object : found) {
      // A key that ends so is a folder of the console's.
      if (!object.key.ends_with('/')) objects_.push_back(std::move(object));
    }
  }

  // The next object; false if there is none.
  bool open_next() {
    while (objects_.empty() && !all_listed_) list_more();
    if (objects_.empty()) return false;
    source_ = transfer::open_object(site_.objects, import_->bucket, objects_.front(),
                                    format_.compression);
    items_ =
        transfer::open_items(*source_, format_, *table_->schema, table_->attribute_definitions);
    bytes_before_ = progress_.processed_bytes;
    record_ = 0;
    return true;
  }

  // A compressed object can only be read from its beginning: what is done is read over.
  void read_over_some() {
    for (size_t i = 0; i < kMaxItemsInCommit && record_ < progress_.records; ++i) {
      if (!next_or_damage()) {
        progress_.records = record_;  // not what it was: its end is met again by who goes on
        break;
      }
      ++record_;
    }
    if (record_ == progress_.records) {
      bytes_before_ -= static_cast<int64_t>(items_->consumed_bytes());
    }
  }

  // As items_->next(), but damage is kept for later.
  std::optional<transfer::ItemReader::Next> next_or_damage() {
    try {
      return items_->next();
    } catch (const transfer::DamagedObject& damage) {
      damage_ = damage.what();
      return std::nullopt;
    }
  }

  // One commit's worth of the object. False if the table is gone.
  bool import_some() {
    std::vector<store::ItemToPut> items;
    size_t bytes = 0;
    while (bytes < store::kMaxPutBytes && items.size() < kMaxItemsInCommit) {
      auto next = next_or_damage();
      if (!next) return end_object(std::move(items));
      ++progress_.processed_items;
      if (next->item) {
        items.push_back({std::move(*next->item), next->size_bytes});
        bytes += store::put_bytes(*table_->schema, items.back().size_bytes);
        ++progress_.imported_items;
      } else {
        ++progress_.errors;
        log_.add(objects_.front().key, record_, next->error, progress_);
      }
      ++record_;
    }
    progress_.records = record_;
    count_bytes();
    return keep(std::move(items));
  }

  void count_bytes() {
    progress_.processed_bytes = bytes_before_ + static_cast<int64_t>(items_->consumed_bytes());
  }

  bool end_object(std::vector<store::ItemToPut> items) {
    if (!damage_.empty()) {
      ++progress_.processed_items;
      ++progress_.errors;
      log_.add(objects_.front().key, record_, damage_, progress_);
      damage_.clear();
    }
    count_bytes();
    progress_.done_key = objects_.front().key;
    progress_.records = 0;
    items_.reset();
    source_.reset();
    objects_.pop_front();
    return keep(std::move(items));
  }

  // Puts items and progress in one commit. False if the table is gone.
  bool keep(std::vector<store::ItemToPut> items) {
    log_.flush();
    const bool there = run_blocking(store::put_all(site_.site.store, table_, std::move(items),
                                                   catalog::Transfers::progress_key(*import_),
                                                   catalog::Transfers::encode(progress_)));
    if (there) site_.transfers.told(*import_, progress_);
    return there;
  }

  // The table is no longer CREATING.
  void make_ready() {
    const int64_t now_ms = site_.site.clock.now_ms();
    const std::function<void(catalog::Table&)> ready = [&](catalog::Table& table) {
      if (table.id == import_->table_id) table.active_at_ms = now_ms;
    };
    run_blocking(site_.site.catalog.update(import_->table_name, ready));
  }

  void finish() {
    make_ready();
    if (progress_.errors > 0) {
      end(TransferStatus::kFailed, "ItemValidationError", std::string(kSomeFailed));
    } else {
      end(TransferStatus::kCompleted, {}, {});
    }
  }

  void fail(const std::string& code, const std::string& message) {
    // What was imported stays, as the service leaves it; the import says that it is not all.
    if (table_ != nullptr) make_ready();
    end(TransferStatus::kFailed, code, message);
  }

  void end(TransferStatus status, std::string code, std::string message) {
    Import ended = *import_;
    ended.status = status;
    ended.end_ms = site_.site.clock.now_ms();
    ended.failure_code = std::move(code);
    ended.failure_message = std::move(message);
    spdlog::info(
        "import {} into table {} ended: {}{}{}; {} items processed, {} imported, {} errors",
        ended.id, ended.table_name, catalog::status_name(status),
        ended.failure_code.empty() ? "" : " ", ended.failure_code, progress_.processed_items,
        progress_.imported_items, progress_.errors);
    run_blocking(site_.transfers.update(std::move(ended)));
    is_over_ = true;
  }

  // Never more to do at once.
  bool take(const ObjectError& error) {
    // Items of an unfinished commit are read again.
    items_.reset();
    source_.reset();
    objects_.clear();
    all_listed_ = false;
    damage_.clear();
    progress_ = site_.transfers.progress(*import_);
    const auto code =
        patience_.failure_of(error, "import " + import_->id, site_.site.clock.now_ms());
    if (code) fail(*code, error.what());
    return false;
  }

  void report() {
    const auto now = std::chrono::steady_clock::now();
    if (now - reported_ < kReportEvery) return;
    reported_ = now;
    spdlog::info("import {}: {} items, {} bytes, {} errors so far", import_->id,
                 progress_.processed_items, progress_.processed_bytes, progress_.errors);
  }

  const TransferSite& site_;
  const catalog::ImportPtr import_;
  const transfer::ImportFormat format_;
  ImportProgress progress_;
  ErrorLog log_;
  catalog::TablePtr table_;
  std::deque<objects::ObjectInfo> objects_;  // the first one is being read
  bool all_listed_ = false;
  std::unique_ptr<transfer::ByteSource> source_;
  std::unique_ptr<transfer::ItemReader> items_;
  uint64_t record_ = 0;       // of the object: the next one
  int64_t bytes_before_ = 0;  // plain bytes of the objects before this one
  std::string damage_;        // of the object, once it was met
  Patience patience_;
  SteadyTime reported_ = std::chrono::steady_clock::now();
  bool is_over_ = false;
};

class Importing final : public Job {
 public:
  explicit Importing(TransferSite site) : site_(std::move(site)) {}
  const char* name() const override { return "importing a table"; }

  bool step() override {
    const bool swept = site_.transfers.sweep();
    std::vector<catalog::ImportPtr> under_way;
    for (auto& import : site_.transfers.imports()) {
      if (import->status == TransferStatus::kInProgress) under_way.push_back(std::move(import));
    }
    return turns_.take(under_way, [&](const catalog::ImportPtr& import) {
      return std::make_unique<Running>(site_, import);
    }) || swept;
  }

 private:
  const TransferSite site_;
  Turns<Running> turns_{"import"};
};

}  // namespace

std::unique_ptr<Job> make_importing(TransferSite site) {
  return std::make_unique<Importing>(std::move(site));
}

}  // namespace stator::work
