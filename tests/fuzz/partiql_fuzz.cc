// PartiQL statements: whatever the text, the answer is a plan or a ValidationException.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "model/error.h"
#include "partiql/compile.h"
#include "partiql/key_plan.h"
#include "partiql/parser.h"
#include "replay_main.h"

namespace {

using namespace stator;

const model::KeySchema& key() {
  static const model::KeySchema schema = [] {
    model::KeySchema result;
    result.partition.push_back({"pk", model::KeyType::kString});
    result.sort.push_back({"sk", model::KeyType::kString});
    return result;
  }();
  return schema;
}

void use_where(const std::optional<expr::Condition>& where) {
  if (!where) return;
  expr::evaluate(*where, model::Item());
  partiql::find_item_key(where, key(), true);
  partiql::plan_read(where, key());
}

template <typename Action>
void expect_validation(Action action) {
  try {
    action();
  } catch (const ApiError& error) {
    if (error.type() != "ValidationException") std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static const std::vector<model::Value> parameters(
      64, model::Value::string("a value that is neither short nor long"));
  expect_validation([&] {
    const partiql::Statement statement = partiql::parse(text);
    partiql::target_of(statement);
    const partiql::Plan plan = partiql::compile(statement, parameters);
    if (const auto* select = std::get_if<partiql::Select>(&plan)) use_where(select->where);
    if (const auto* erase = std::get_if<partiql::Delete>(&plan)) use_where(erase->where);
    if (const auto* update = std::get_if<partiql::Update>(&plan)) {
      expect_validation([&] { use_where(update->where); });
      const model::Item item;
      update->update.apply(&item, item);
    }
  });
  return 0;
}
