#include "database/database.h"

#include <algorithm>
#include <set>

#include "catalog/backups.h"
#include "catalog/catalog.h"
#include "catalog/scaling.h"
#include "catalog/transfers.h"
#include "common/log.h"
#include "common/waits.h"
#include "database/notes.h"
#include "database/table_metrics.h"
#include "engine/adversary.h"
#include "expr/parse_cache.h"
#include "json/writer.h"
#include "ops/contributor_insights.h"
#include "ops/kinesis_destinations.h"
#include "ops/operation.h"
#include "ops/stream_iterator.h"
#include "ops/transaction.h"
#include "store/store.h"
#include "work/jobs.h"

namespace stator {

namespace {

std::string_view namespace_of(std::string_view type) {
  if (type == "SerializationException" || type == "UnknownOperationException")
    return "com.amazon.coral.service#";
  if (type == "ValidationException") return "com.amazon.coral.validate#";
  if (type == "ThrottlingException") return "com.amazon.coral.availability#";
  return "com.amazonaws.dynamodb.v20120810#";
}

// The model spells the member so for these.
bool has_capital_message(std::string_view type) {
  return type == "SerializationException" || type == "TransactionCanceledException" ||
         type == "TransactionInProgressException" || type == "IdempotentParameterMismatchException";
}

// Application Auto Scaling names its errors without a namespace, and spells the message so.
Answer scaling_error_answer(const ApiError& error) {
  Answer answer;
  const bool internal = error.type() == "InternalServerError";
  answer.status = internal ? 500 : 400;
  json::Object object(answer.body);
  object.string("__type", internal ? "InternalServiceException" : error.type());
  if (!error.message().empty()) object.string("Message", error.message());
  object.close();
  return answer;
}

Answer error_answer(const ApiError& error) {
  Answer answer;
  answer.status = error.type() == "InternalServerError" ? 500 : 400;
  json::Object object(answer.body);
  object.string("__type", std::string(namespace_of(error.type())) + error.type());
  const bool capital = has_capital_message(error.type());
  if (!error.message().empty()) object.string(capital ? "Message" : "message", error.message());
  answer.body.append(error.extra());
  object.close();
  return answer;
}

std::unique_ptr<engine::Engine> open_engine(const DatabaseOptions& options,
                                            engine::Activity& activity) {
  engine::RocksdbOptions rocksdb;
  rocksdb.clock = options.clock;
  rocksdb.directory = options.directory;
  rocksdb.durability = options.durability;
  rocksdb.block_cache_bytes = options.block_cache_bytes;
  rocksdb.write_buffer_bytes = options.write_buffer_bytes;
  rocksdb.file_system = options.file_system;
  rocksdb.activity = &activity;
  auto engine = engine::open_rocksdb(rocksdb);
  if (options.adversary_seed == 0) return engine;
  engine::AdversaryOptions adversary;
  adversary.seed = options.adversary_seed;
  return engine::make_adversary(std::move(engine), adversary);
}

// Backups, and tables that are being restored; how far those have come, stator_table_items says.
void write_recovery_metrics(metrics::Text& text, const catalog::Catalog& catalog,
                            const catalog::Backups& backups) {
  const auto tables = catalog.list();
  const auto restored = std::count_if(tables.begin(), tables.end(),
                                      [](const auto& table) { return table->restore.has_value(); });
  text.gauge("stator_restores_under_way", "Tables that are being restored.",
             static_cast<double>(restored));
  const auto list = backups.list();
  const auto system =
      std::count_if(list.begin(), list.end(), [](const auto& backup) { return backup->system; });
  text.family("stator_backups", "gauge", "Backups that are kept, by who made them.");
  text.sample({{"type", "SYSTEM"}}, static_cast<uint64_t>(system));
  text.sample({{"type", "USER"}},
              static_cast<uint64_t>(list.size()) - static_cast<uint64_t>(system));
}

// Exports and imports by what became of them, and how far those under way have come.
void write_transfer_metrics(metrics::Text& text, const catalog::Transfers& transfers) {
  using catalog::TransferStatus;
  const auto exports = transfers.exports();
  const auto imports = transfers.imports();
  const auto count = [](const auto& list, TransferStatus status) {
    return std::count_if(list.begin(), list.end(),
                         [&](const auto& one) { return one->status == status; });
  };
  text.family("stator_transfers", "gauge", "Exports and imports that are remembered, by status.");
  for (const auto status :
       {TransferStatus::kInProgress, TransferStatus::kCompleted, TransferStatus::kFailed}) {
    const std::string name(catalog::status_name(status));
    text.sample({{"kind", "export"}, {"status", name}},
                static_cast<uint64_t>(count(exports, status)));
    text.sample({{"kind", "import"}, {"status", name}},
                static_cast<uint64_t>(count(imports, status)));
  }
  text.family("stator_transfer_items", "gauge", "Items that a transfer under way has come to.");
  for (const auto& one : exports) {
    if (one->status != TransferStatus::kInProgress) continue;
    text.sample({{"kind", "export"}, {"id", one->id}},
                static_cast<uint64_t>(transfers.progress(*one).item_count));
  }
  for (const auto& one : imports) {
    if (one->status != TransferStatus::kInProgress) continue;
    text.sample({{"kind", "import"}, {"id", one->id}},
                static_cast<uint64_t>(transfers.progress(*one).processed_items));
  }
}

std::unique_ptr<objects::ObjectStore> open_objects(const DatabaseOptions& options,
                                                   const Clock& clock) {
  objects::Options asked = options.objects;
  const bool in_memory = options.durability == engine::Durability::kMemory;
  if (asked.root.empty() && !in_memory) asked.root = options.directory / "s3";
  return objects::open(asked, clock);
}

std::filesystem::path import_logs(const DatabaseOptions& options) {
  if (options.durability == engine::Durability::kMemory) return {};
  return options.directory / "logs" / "aws-dynamodb" / "imports";
}

class DatabaseOnEngine final : public Database {
 public:
  explicit DatabaseOnEngine(const DatabaseOptions& options)
      : clock_(options.clock != nullptr ? *options.clock : system_clock_),
        engine_(open_engine(options, activity_)),
        catalog_(*engine_, clock_,
                 {.region = options.region,
                  .account = options.account,
                  .table_delay_ms = options.table_delay_ms,
                  .stream_shards = options.stream_shards,
                  .ttl_change_interval_s = options.ttl_change_interval_s}),
        scaling_(*engine_),
        backups_(*engine_),
        transfers_(*engine_, catalog_, clock_),
        store_(*engine_, catalog_, clock_),
        throttle_(options.throttle, clock_),
        context_{catalog_,       store_,          expressions_, tokens_,  throttle_, clock_,
                 options.region, options.account, scaling_,     backups_, transfers_},
        objects_(open_objects(options, clock_)),
        transfer_background_(make_transfer_jobs(options)),
        background_(make_jobs(options)) {}
  ~DatabaseOnEngine() override { objects_->stop(); }

  bool knows(std::string_view service, std::string_view operation) const override {
    return ops::find_operation(service, operation) != nullptr;
  }

  Task<Answer> execute(std::string_view service, std::string_view operation, std::string body,
                       Caller caller) override {
    const ops::Operation* found = ops::find_operation(service, operation);
    Answer answer;
    Waits waits;
    uint64_t parsed_us = 0;
    try {
      if (found == nullptr) throw ApiError("UnknownOperationException", "");
      ops::Request request{.context = context_,
                           .document = {},
                           .body = {},
                           .shape = found->shape,
                           .access_key = std::move(caller.access_key),
                           .request_id = std::move(caller.request_id)};
      if (!request.document.parse(std::move(body))) throw ApiError("SerializationException", "");
      request.body = request.document.root();
      if (!request.body.is_object())
        throw ApiError("SerializationException", "Unexpected token received from parser");
      ops::check_types(request.body, *found->shape);
      parsed_us = metrics::steady_us();
      auto pending = found->handler(request);
      pending.note_waits_in(&waits);
      answer.body = co_await pending;
      if (found->changes_tables) {
        background_.wake();
        transfer_background_.wake();
      }
    } catch (const ApiError& error) {
      const bool scaling = found != nullptr && found->service == ops::kScalingService;
      answer = scaling ? scaling_error_answer(error) : error_answer(error);
      answer.error = error.type();
    } catch (const std::exception& error) {
      answer = error_answer(ApiError("InternalServerError", "Internal server error"));
      answer.error = "InternalServerError";
      answer.detail = error.what();
    }
    answer.parsed_us = parsed_us;
    answer.keys_us = waits.keys_us;
    answer.disk_us = waits.disk_us;
    answer.commit_us = waits.commit_us;
    co_return answer;
  }

  std::string insights() const override { return ops::insights_report(context_); }

  Task<void> keep(std::vector<Note> notes) override { return notes_.keep(std::move(notes)); }
  Task<std::vector<Note>> kept(std::string prefix) override {
    return notes_.kept(std::move(prefix));
  }
  uint64_t version() const override { return engine_->committed_version(); }
  std::vector<KinesisFeed> kinesis_feeds() const override {
    std::vector<KinesisFeed> feeds;
    for (ops::KinesisFeed& feed : ops::kinesis_feeds(context_)) {
      feeds.push_back(
          {std::move(feed.stream_arn), std::move(feed.kinesis_arn), std::move(feed.precision)});
    }
    return feeds;
  }
  std::string latest_sequence_number() const override {
    return ops::latest_sequence_number(engine_->committed_version());
  }
  std::vector<std::string> targets() const override {
    std::vector<std::string> targets;
    for (const ops::Operation& operation : ops::operations())
      targets.push_back(std::string(operation.service) + "." + std::string(operation.name));
    return targets;
  }

  std::string failure() const override { return engine_->failure(); }

  Task<void> write_metrics(metrics::Text& text) override {
    Task<void> tables = write_table_metrics(text, catalog_, store_, throttle_);
    co_await tables;
    engine_->write_metrics(text);
    work::write_metrics(text, {&background_, &transfer_background_});
    write_recovery_metrics(text, catalog_, backups_);
    write_transfer_metrics(text, transfers_);
  }

 private:
  std::vector<std::unique_ptr<work::Job>> make_jobs(const DatabaseOptions& options) {
    const work::Site site{catalog_, store_, clock_, backups_, activity_};
    std::vector<std::unique_ptr<work::Job>> jobs;
    jobs.push_back(work::make_cleaning(site));
    jobs.push_back(work::make_backfill(site, options.ttl_delay_s));
    jobs.push_back(work::make_expiry(site, options.ttl_delay_s));
    jobs.push_back(work::make_history_keeping(site));
    jobs.push_back(work::make_restoring(site));
    jobs.push_back(work::make_streams(site));
    jobs.push_back(work::make_scaling(site, scaling_, throttle_.consumption()));
    return jobs;
  }

  std::vector<std::unique_ptr<work::Job>> make_transfer_jobs(const DatabaseOptions& options) {
    const work::TransferSite site{{catalog_, store_, clock_, backups_, activity_},
                                  transfers_,
                                  *objects_,
                                  import_logs(options)};
    std::vector<std::unique_ptr<work::Job>> jobs;
    jobs.push_back(work::make_exporting(site));
    jobs.push_back(work::make_importing(site));
    return jobs;
  }

  SystemClock system_clock_;
  const Clock& clock_;
  engine::Activity activity_;
  std::unique_ptr<engine::Engine> engine_;
  Notes notes_{*engine_};
  catalog::Catalog catalog_;
  catalog::Scaling scaling_;
  catalog::Backups backups_;
  catalog::Transfers transfers_;
  store::Store store_;
  expr::ParseCache expressions_;
  ops::TokensInProgress tokens_;
  capacity::Throttle throttle_;
  ops::Context context_;
  std::unique_ptr<objects::ObjectStore> objects_;
  work::Background transfer_background_;  // waits for buckets
  work::Background background_;
};

}  // namespace

std::unique_ptr<Database> Database::open(DatabaseOptions options) {
  return std::make_unique<DatabaseOnEngine>(options);
}

}  // namespace stator
