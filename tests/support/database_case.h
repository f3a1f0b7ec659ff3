// A database with a clock that the test moves, and short words for asking it.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "common/clock.h"
#include "database/database.h"

namespace stator {

class DatabaseCase {
 protected:
  static constexpr int64_t kStart_s = 1'800'000'000;

  Answer run(std::string_view operation, std::string body) {
    return run_on("DynamoDB_20120810", operation, std::move(body));
  }
  Answer run_on(std::string_view service, std::string_view operation, std::string body) {
    return run_blocking(database_->execute(service, operation, std::move(body), Caller{}));
  }
  std::string must(std::string_view operation, std::string body) {
    return body_of(operation, run(operation, std::move(body)), 200);
  }
  static std::string body_of(std::string_view operation, Answer answer, int status) {
    EXPECT_EQ(answer.status, status) << operation << ": " << answer.body;
    return std::move(answer.body);
  }

  // Waits until `condition` holds; a minute is only the end of patience.
  template <typename Condition>
  static bool eventually(Condition condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (std::chrono::steady_clock::now() < end) {
      if (condition()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return false;
  }
  bool wait_until_active(const std::string& table) {
    return eventually([&] {
      return must("DescribeTable", R"({"TableName":")" + table + "\"}")
                 .find(R"("TableStatus":"ACTIVE")") != std::string::npos;
    });
  }

  ManualClock clock_{kStart_s * 1'000'000};
  std::unique_ptr<Database> database_;
};

}  // namespace stator
