// Records of the catalog in the engine: all of them are read at start-up and mirrored in memory,
// and each change is one commit that holds the records it touches.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "common/ids.h"
#include "common/task.h"
#include "engine/engine.h"

namespace stator::catalog {

// Others hold a record only for the time of a commit, so this many tries in a row do not fail by
// chance. A try that times out has waited for seconds.
inline constexpr int kMaxRecordTries = 50;

// Calls `use` for every record below `prefix`, in order, with the rest of its key and its value.
void each_record(engine::Engine& engine, std::string_view prefix,
                 const std::function<void(std::string_view rest, std::string_view value)>& use);

// Commits what `body` makes of `keys`, which are held alone. Answers only with a commit; everything
// else throws EngineError. `what` says which records those are if others held them for too long.
Task<engine::Outcome> commit_records(engine::Engine& engine, RandomIds& ids, std::string what,
                                     std::vector<std::string> keys,
                                     std::function<void(const engine::Held&, engine::Batch&)> body,
                                     int max_timeouts = 1);

}  // namespace stator::catalog
