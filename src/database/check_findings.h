// What a check has found so far. Internal to the check.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>

#include "common/bytes.h"
#include "database/check.h"
#include "engine/engine.h"
#include "model/schema.h"
#include "model/value.h"

namespace stator::check {

// A counter as the engine keeps it: 8 bytes, the least significant first.
int64_t counter_value(const std::optional<std::string>& stored);
// The key of an item for people: "pk=S:user1, sk=N:7".
std::string describe_key(const model::KeySchema& key, const model::Item& item);

class Findings {
 public:
  CheckReport report;

  void problem(std::string text) {
    ++report.problem_count;
    if (report.problems.size() < kMaxProblems) report.problems.push_back(std::move(text));
  }

  // Runs `action`; if what it reads is damaged, that is what was found. False then.
  template <typename Action>
  bool guarded(const std::string& what, Action action) {
    try {
      action();
      return true;
    } catch (const CorruptRecord& error) {
      problem(fmt::format("{}: {}", what, error.what()));
    } catch (const engine::EngineError& error) {
      problem(fmt::format("{}: {}", what, error.what()));
    }
    return false;
  }

 private:
  static constexpr size_t kMaxProblems = 100;
};

}  // namespace stator::check
