// Expressions of every kind: whatever the text, the answer is a tree or a ValidationException.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "expr/expr.h"
#include "model/error.h"
#include "replay_main.h"

namespace {

using namespace stator;

template <typename Action>
void expect_validation(Action action) {
  try {
    action();
  } catch (const ApiError& error) {
    if (error.type() != "ValidationException") std::abort();
  }
}

expr::Bindings bindings() {
  expr::Bindings::Names names;
  expr::Bindings::Values values;
  for (const char* name : {"a", "b", "n"}) names.emplace_back(std::string("#") + name, name);
  values.emplace_back(":s", model::Value::string("text"));
  values.emplace_back(":n", model::Value::number(model::Number::from_int(7)));
  values.emplace_back(":l", model::Value::list({model::Value::boolean(true)}));
  values.emplace_back(":ss", model::Value::string_set({"x", "y"}));
  return {std::move(names), std::move(values)};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  expr::ParseCache cache(0);
  const model::Item item;
  for (const auto kind : {expr::ExpressionKind::kCondition, expr::ExpressionKind::kKeyCondition}) {
    expect_validation([&] {
      expr::Bindings placeholders = bindings();
      const expr::Condition condition = expr::bind_condition(text, kind, placeholders, cache);
      expr::evaluate(condition, item);
      if (kind == expr::ExpressionKind::kKeyCondition) expr::key_clauses(condition);
    });
  }
  expect_validation([&] {
    expr::Bindings placeholders = bindings();
    expr::project(expr::bind_projection(text, placeholders, cache), item);
  });
  expect_validation([&] {
    expr::Bindings placeholders = bindings();
    expr::bind_update(text, placeholders, cache).apply(nullptr, item);
  });
  return 0;
}
