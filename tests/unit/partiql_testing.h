// Helpers of the PartiQL tests.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "model/error.h"
#include "model/schema.h"
#include "model/value.h"
#include "partiql/compile.h"
#include "partiql/key_plan.h"
#include "partiql/parser.h"

namespace stator::partiql::testing {

inline constexpr std::string_view kMalformed = "Statement wasn't well formed, can't be processed: ";

// The message that `action` is refused with; "accepted" if it is not.
template <typename Action>
std::string refusal(Action action) {
  try {
    action();
  } catch (const ApiError& error) {
    EXPECT_EQ(error.type(), "ValidationException");
    return error.message();
  }
  return "accepted";
}

inline std::string parse_refusal(std::string_view text) {
  return refusal([&] { parse(text); });
}

inline Plan compiled(std::string_view text, std::vector<model::Value> parameters = {}) {
  return compile(parse(text), parameters);
}

inline std::string compile_refusal(std::string_view text,
                                   const std::vector<model::Value>& parameters = {}) {
  return refusal([&] { compile(parse(text), parameters); });
}

inline model::Value string(std::string text) {
  return model::Value::string(std::move(text));
}
inline model::Value number(int64_t value) {
  return model::Value::number(model::Number::from_int(value));
}

// A key of strings: pk, and sk unless it is left out.
inline model::KeySchema string_key(bool with_sort = true) {
  model::KeySchema key;
  key.partition.push_back({"pk", model::KeyType::kString});
  if (with_sort) key.sort.push_back({"sk", model::KeyType::kString});
  return key;
}

inline std::optional<expr::Condition> where(std::string_view condition) {
  return std::get<Select>(compiled("SELECT * FROM t WHERE " + std::string(condition))).where;
}

}  // namespace stator::partiql::testing
