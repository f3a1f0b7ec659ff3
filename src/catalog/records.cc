#include "catalog/records.h"

#include "common/bytes.h"

namespace stator::catalog {

void each_record(engine::Engine& engine, std::string_view prefix,
                 const std::function<void(std::string_view, std::string_view)>& use) {
  std::string from(prefix);
  for (int expired = 0;;) {
    engine::Rows rows;
    try {
      const auto view = engine.view();
      rows = run_blocking(
          view->scan({from, prefix_end(std::string(prefix))}, engine::Direction::kForward, {}));
    } catch (const engine::ViewExpired&) {
      if (++expired > kMaxRecordTries) throw;
      continue;
    }
    for (size_t i = 0; i < rows.size(); ++i) use(rows.key(i).substr(prefix.size()), rows.value(i));
    if (!rows.more() || rows.empty()) return;
    from = std::string(rows.key(rows.size() - 1)) + '\0';
  }
}

Task<engine::Outcome> commit_records(engine::Engine& engine, RandomIds& ids, std::string what,
                                     std::vector<std::string> keys,
                                     std::function<void(const engine::Held&, engine::Batch&)> body,
                                     int max_timeouts) {
  int timeouts = 0;
  for (int tries = 1; tries <= kMaxRecordTries && timeouts < max_timeouts; ++tries) {
    engine::Mutation mutation;
    mutation.id = ids.uuid();
    mutation.exclusive = keys;
    mutation.body = body;
    auto pending = engine.mutate(std::move(mutation));
    const engine::Outcome outcome = co_await pending;
    if (outcome.committed()) co_return outcome;
    if (outcome.kind == engine::Outcome::Kind::kFailed) throw engine::EngineError(outcome.detail);
    if (outcome.kind == engine::Outcome::Kind::kTimedOut) ++timeouts;
  }
  throw engine::EngineError(what + " was held by others for too long");
}

}  // namespace stator::catalog
