// What TransactWriteItems and ExecuteTransaction share: running many writes as one, idempotency
// tokens, and the error that lists why a transaction was cancelled.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "ops/item_request.h"

namespace stator::ops {

inline constexpr size_t kMaxTransactionBytes = 4 * 1024 * 1024;

// The client tokens of the transactions under way in this process. Thread-safe.
class TokensInProgress {
 public:
  // False if it is there already.
  bool enter(const std::string& token);
  void leave(const std::string& token);

 private:
  std::mutex mutex_;
  std::unordered_set<std::string> tokens_;  // at most one for each request under way
};

// Why one action did not happen. Code "None" if it would have.
struct CancellationReason {
  std::string code = "None";
  std::string message;
  std::optional<model::Item> item;
};

// The reason of an action that was refused for want of capacity.
CancellationReason throttling_reason(const ApiError& refused);

// Throws TransactionCanceledException with the reasons in order.
[[noreturn]] void throw_cancelled(const std::vector<CancellationReason>& reasons);

// One action of a transaction.
struct TransactionAction {
  store::Write write;
  std::string given_table_name;
  bool item_on_failure = false;  // ReturnValuesOnConditionCheckFailure is ALL_OLD
  std::optional<std::string>
      invalid_key;  // why its key does not fit the table; cancels the transaction
};

struct TransactionOutcome {
  bool replayed = false;                    // the token was used before, with the same request
  std::vector<store::WriteResult> results;  // of the actions; empty if replayed
  std::vector<size_t> size_bytes;           // of the items written
};

// Runs the actions together or throws. `token` (if any) makes it happen once in ten minutes;
// `fingerprint` is of the request's parameters. The tables have been looked up and the items
// checked.
Task<TransactionOutcome> run_transaction(const Context& context,
                                         std::vector<TransactionAction> actions,
                                         std::optional<std::string> token, std::string fingerprint);

// "ConsumedCapacity" of a transaction: one entry for each table.
void append_transaction_capacity(json::Object& answer, CapacityMode mode,
                                 const std::vector<TransactionAction>& actions,
                                 const TransactionOutcome& outcome);

// Throws if two actions are on one item.
void check_distinct_items(const std::vector<TransactionAction>& actions);

}  // namespace stator::ops
