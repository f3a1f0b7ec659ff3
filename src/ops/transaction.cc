#include "ops/transaction.h"

#include <algorithm>

#include "capacity/units.h"
#include "common/bytes.h"
#include "model/key_codec.h"
#include "ops/throttling.h"

namespace stator::ops {

namespace {

constexpr int64_t kTokenLifeMs = 10 * 60 * 1000;
constexpr char kTokenVersion = 1;

std::string token_key(const std::string& token) {
  return "xt" + token;
}

std::string token_expiry_key(int64_t expiry_ms, const std::string& token) {
  std::string key = "xe";
  append_big_endian(key, static_cast<uint64_t>(expiry_ms));
  return key + token;
}

struct TokenRecord {
  int64_t expiry_ms = 0;
  std::string fingerprint;
  std::vector<size_t> size_bytes;
};

std::string encode_token(const TokenRecord& record) {
  std::string out(1, kTokenVersion);
  append_big_endian(out, static_cast<uint64_t>(record.expiry_ms));
  append_string(out, record.fingerprint);
  append_varint(out, record.size_bytes.size());
  for (const size_t size : record.size_bytes) append_varint(out, size);
  return out;
}

TokenRecord decode_token(std::string_view in) {
  if (in.empty() || in.front() != kTokenVersion)
    throw CorruptRecord("idempotency token of an unknown version");
  in.remove_prefix(1);
  TokenRecord record;
  record.expiry_ms = static_cast<int64_t>(read_big_endian<uint64_t>(in));
  record.fingerprint = read_string(in);
  const uint64_t count = read_varint(in);
  if (count > in.size()) throw CorruptRecord("idempotency token longer than its record");
  for (uint64_t i = 0; i < count; ++i) record.size_bytes.push_back(read_varint(in));
  return record;
}

CancellationReason reason_of(const TransactionAction& action, const store::WriteResult& result) {
  CancellationReason reason;
  if (result.error) {
    const bool collection = result.error->type() == "ItemCollectionSizeLimitExceededException";
    reason.code = collection ? "ItemCollectionSizeLimitExceeded" : "ValidationError";
    reason.message = result.error->message();
    return reason;
  }
  switch (result.kind) {
    case store::WriteResult::Kind::kDone:
      return reason;
    case store::WriteResult::Kind::kDuplicate:
      reason.code = "DuplicateItem";
      reason.message = "Duplicate primary key exists in table";
      return reason;
    case store::WriteResult::Kind::kConditionFailed:
    case store::WriteResult::Kind::kMissing:
      reason.code = "ConditionalCheckFailed";
      reason.message = "The conditional request failed";
      if (action.item_on_failure) reason.item = result.old_item;
      return reason;
  }
  return reason;
}

// A transaction costs twice what its writes alone would in the table, but not in its indexes.
constexpr double kTransactionFactor = 2;

void settle(const Context& context, const std::vector<AdmittedWrite>& admitted,
            const std::vector<store::WriteResult>& results) {
  for (size_t i = 0; i < admitted.size() && i < results.size(); ++i) {
    settle_write(context, admitted[i], results[i].units, kTransactionFactor);
  }
}

// Leaves the registry at the end of the request, however it ends.
struct TokenScope {
  TokensInProgress& tokens;
  std::string token;
  TokenScope(TokensInProgress& registry, std::string name)
      : tokens(registry), token(std::move(name)) {
    if (!tokens.enter(token)) {
      throw ApiError("TransactionInProgressException",
                     "The transaction with the given request token is already in progress.");
    }
  }
  ~TokenScope() { tokens.leave(token); }
  TokenScope(const TokenScope&) = delete;
  TokenScope& operator=(const TokenScope&) = delete;
};

}  // namespace

bool TokensInProgress::enter(const std::string& token) {
  const std::lock_guard lock(mutex_);
  return tokens_.insert(token).second;
}

void TokensInProgress::leave(const std::string& token) {
  const std::lock_guard lock(mutex_);
  tokens_.erase(token);
}

CancellationReason throttling_reason(const ApiError& refused) {
  const bool provisioned = refused.type() == "ProvisionedThroughputExceededException";
  return {provisioned ? "ProvisionedThroughputExceeded" : "ThrottlingError", refused.message(),
          std::nullopt};
}

void throw_cancelled(const std::vector<CancellationReason>& reasons) {
  std::string codes;
  std::string extra = ",\"CancellationReasons\":";
  json::Array list(extra);
  for (const CancellationReason& reason : reasons) {
    codes += (codes.empty() ? "" : ", ") + reason.code;
    json::Object object(list.element());
    object.string("Code", reason.code);
    if (!reason.message.empty()) object.string("Message", reason.message);
    if (reason.item) append_item(object.key("Item"), *reason.item);
    object.close();
  }
  list.close();
  throw ApiError("TransactionCanceledException",
                 "Transaction cancelled, please refer cancellation reasons for specific reasons [" +
                     codes + "]",
                 std::move(extra));
}

void check_distinct_items(const std::vector<TransactionAction>& actions) {
  std::vector<std::string> keys;
  for (const TransactionAction& action : actions) {
    if (!action.invalid_key)
      keys.push_back(model::item_key(*action.write.table->schema, action.write.item));
  }
  std::sort(keys.begin(), keys.end());
  if (std::adjacent_find(keys.begin(), keys.end()) != keys.end()) {
    invalid("Transaction request cannot include multiple operations on one item");
  }
}

Task<TransactionOutcome> run_transaction(const Context& context,
                                         std::vector<TransactionAction> actions,
                                         std::optional<std::string> token,
                                         std::string fingerprint) {
  std::vector<CancellationReason> reasons(actions.size());
  bool cancelled = false;
  for (size_t i = 0; i < actions.size(); ++i) {
    if (!actions[i].invalid_key) continue;
    reasons[i].code = "ValidationError";
    reasons[i].message = *actions[i].invalid_key;
    cancelled = true;
  }
  if (cancelled) throw_cancelled(reasons);
  std::vector<AdmittedWrite> admitted;
  admitted.reserve(actions.size());
  for (size_t i = 0; i < actions.size(); ++i) {
    admitted.push_back(check_write(context, actions[i].write));
    if (!admitted[i].refused) continue;
    reasons[i] = throttling_reason(*admitted[i].refused);
    cancelled = true;
  }
  if (cancelled) throw_cancelled(reasons);

  std::optional<TokenScope> scope;
  if (token) scope.emplace(context.tokens, *token);
  TransactionOutcome outcome;
  std::optional<store::Store::Companion> companion;
  if (token) {
    const int64_t now_ms = context.clock.now_ms();
    companion.emplace();
    companion->key = token_key(*token);
    companion->inspect = [&outcome, &fingerprint, now_ms](const std::optional<std::string>& value) {
      outcome.size_bytes.clear();
      if (!value) return true;
      TokenRecord record = decode_token(*value);
      if (record.expiry_ms <= now_ms) return true;
      if (record.fingerprint != fingerprint) {
        throw ApiError("IdempotentParameterMismatchException",
                       "DynamoDB rejected the request because you retried a request with a "
                       "different payload but with "
                       "an idempotent token that was already used.");
      }
      outcome.size_bytes = std::move(record.size_bytes);
      return false;
    };
    companion->finish = [&token, &fingerprint, now_ms](
                            const std::vector<store::WriteResult>& results, engine::Batch& batch) {
      TokenRecord record{now_ms + kTokenLifeMs, fingerprint, {}};
      for (const store::WriteResult& result : results)
        record.size_bytes.push_back(result.size_bytes);
      batch.put(token_key(*token), encode_token(record));
      batch.put(token_expiry_key(record.expiry_ms, *token), std::string());
    };
  }
  std::vector<store::Write> writes;
  writes.reserve(actions.size());
  for (TransactionAction& action : actions) writes.push_back(std::move(action.write));
  auto pending = context.store.transact(std::move(writes), std::move(companion));
  store::TransactionResult result = co_await pending;
  switch (result.kind) {
    case store::TransactionResult::Kind::kCommitted:
      break;
    case store::TransactionResult::Kind::kRefused:
      outcome.replayed = true;
      for (size_t i = 0; i < admitted.size() && i < outcome.size_bytes.size(); ++i) {
        settle_replay(context, admitted[i],
                      kTransactionFactor * capacity::read_units(outcome.size_bytes[i], true));
      }
      co_return outcome;
    case store::TransactionResult::Kind::kConflict:
      for (CancellationReason& reason : reasons) {
        reason.code = "TransactionConflict";
        reason.message = "Transaction is ongoing for the item";
      }
      throw_cancelled(reasons);
    case store::TransactionResult::Kind::kCancelled:
      settle(context, admitted, result.results);
      for (size_t i = 0; i < actions.size(); ++i)
        reasons[i] = reason_of(actions[i], result.results[i]);
      throw_cancelled(reasons);
  }
  settle(context, admitted, result.results);
  outcome.results = std::move(result.results);
  for (const store::WriteResult& one : outcome.results)
    outcome.size_bytes.push_back(one.size_bytes);
  co_return outcome;
}

void append_transaction_capacity(json::Object& answer, CapacityMode mode,
                                 const std::vector<TransactionAction>& actions,
                                 const TransactionOutcome& outcome) {
  if (mode == CapacityMode::kNone) return;
  std::vector<Consumed> tables;
  for (size_t i = 0; i < actions.size(); ++i) {
    const TransactionAction& action = actions[i];
    auto at = std::find_if(tables.begin(), tables.end(), [&](const Consumed& table) {
      return table.table_name == action.given_table_name;
    });
    if (at == tables.end()) {
      tables.push_back({action.given_table_name, 0, {}, action.write.table->schema.get()});
      at = tables.end() - 1;
    }
    if (outcome.replayed) {
      if (i < outcome.size_bytes.size())
        at->table += 2 * capacity::read_units(outcome.size_bytes[i], true);
      continue;
    }
    // Observed: a transaction costs twice as much in the table, but not in its indexes.
    const store::WriteUnits& units = outcome.results[i].units;
    at->table += 2 * units.table;
    at->indexes.resize(std::max(at->indexes.size(), units.indexes.size()), 0);
    for (size_t k = 0; k < units.indexes.size(); ++k) at->indexes[k] += units.indexes[k];
  }
  json::Array list(answer.key("ConsumedCapacity"));
  for (const Consumed& table : tables) {
    append_capacity_value(list.element(), mode, table,
                          outcome.replayed ? "ReadCapacityUnits" : "WriteCapacityUnits");
  }
  list.close();
}

}  // namespace stator::ops
