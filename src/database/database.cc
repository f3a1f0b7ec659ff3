#include "database/database.h"

#include <set>

#include "catalog/catalog.h"
#include "catalog/scaling.h"
#include "common/log.h"
#include "database/table_metrics.h"
#include "engine/adversary.h"
#include "expr/parse_cache.h"
#include "json/writer.h"
#include "ops/contributor_insights.h"
#include "ops/operation.h"
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

std::unique_ptr<engine::Engine> open_engine(const DatabaseOptions& options) {
  engine::RocksdbOptions rocksdb;
  rocksdb.clock = options.clock;
  rocksdb.directory = options.directory;
  rocksdb.durability = options.durability;
  rocksdb.block_cache_bytes = options.block_cache_bytes;
  auto engine = engine::open_rocksdb(rocksdb);
  if (options.adversary_seed == 0) return engine;
  engine::AdversaryOptions adversary;
  adversary.seed = options.adversary_seed;
  return engine::make_adversary(std::move(engine), adversary);
}

class DatabaseOnEngine final : public Database {
 public:
  explicit DatabaseOnEngine(const DatabaseOptions& options)
      : clock_(options.clock != nullptr ? *options.clock : system_clock_),
        engine_(open_engine(options)),
        catalog_(*engine_, clock_,
                 {.region = options.region,
                  .account = options.account,
                  .table_delay_ms = options.table_delay_ms,
                  .stream_shards = options.stream_shards,
                  .ttl_change_interval_s = options.ttl_change_interval_s}),
        scaling_(*engine_),
        store_(*engine_, catalog_, clock_),
        throttle_(options.throttle, clock_),
        context_{catalog_, store_,         expressions_,    tokens_, throttle_,
                 clock_,   options.region, options.account, scaling_},
        background_(make_jobs(options)) {}

  bool knows(std::string_view service, std::string_view operation) const override {
    return ops::find_operation(service, operation) != nullptr;
  }

  Task<Answer> execute(std::string_view service, std::string_view operation, std::string body,
                       Caller caller) override {
    const ops::Operation* found = ops::find_operation(service, operation);
    const std::string request_id = caller.request_id;
    Answer answer;
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
      answer.body = co_await pending;
      if (found->changes_tables) background_.wake();
    } catch (const ApiError& error) {
      const bool scaling = found != nullptr && found->service == ops::kScalingService;
      answer = scaling ? scaling_error_answer(error) : error_answer(error);
      answer.error = error.type();
    } catch (const std::exception& error) {
      log_event(spdlog::level::err, "a request failed",
                {{"request_id", request_id}, {"operation", operation}, {"error", error.what()}});
      answer = error_answer(ApiError("InternalServerError", "Internal server error"));
      answer.error = "InternalServerError";
    }
    answer.parsed_us = parsed_us;
    co_return answer;
  }

  std::string insights() const override { return ops::insights_report(context_); }

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
    background_.write_metrics(text);
  }

 private:
  std::vector<std::unique_ptr<work::Job>> make_jobs(const DatabaseOptions& options) {
    const work::Site site{catalog_, store_, clock_};
    std::vector<std::unique_ptr<work::Job>> jobs;
    jobs.push_back(work::make_cleaning(site));
    jobs.push_back(work::make_backfill(site));
    jobs.push_back(work::make_expiry(site, options.ttl_delay_s));
    jobs.push_back(work::make_streams(site));
    jobs.push_back(work::make_scaling(site, scaling_, throttle_.consumption()));
    return jobs;
  }

  SystemClock system_clock_;
  const Clock& clock_;
  std::unique_ptr<engine::Engine> engine_;
  catalog::Catalog catalog_;
  catalog::Scaling scaling_;
  store::Store store_;
  expr::ParseCache expressions_;
  ops::TokensInProgress tokens_;
  capacity::Throttle throttle_;
  ops::Context context_;
  work::Background background_;
};

}  // namespace

std::unique_ptr<Database> Database::open(DatabaseOptions options) {
  return std::make_unique<DatabaseOnEngine>(options);
}

}  // namespace stator
