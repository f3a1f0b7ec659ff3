#include "json/writer.h"
#include "ops/operation.h"
#include "ops/table_description.h"
#include "ops/table_request.h"

namespace stator::ops {

Task<std::string> delete_table(Request& request) {
  const Context& context = request.context;
  require_table_name(request);
  check_shape(request);
  const auto known = shown_table(request);
  const auto sizes = co_await context.store.sizes(*known->schema);

  const std::function<void(const catalog::Table&)> check = [&](const catalog::Table& table) {
    refuse_unless_active(table, context.clock.now_ms());
    if (table.deletion_protection) {
      invalid(
          "Resource cannot be deleted as it is currently protected against deletion. Disable "
          "deletion protection "
          "first.");
    }
  };
  const auto removed = co_await context.catalog.remove(known->name(), check);
  if (!removed) throw_table_not_found(known->name());

  std::string out;
  json::Object answer(out);
  append_deleted_table_description(answer.key("TableDescription"), *removed, sizes,
                                   context.clock.now_ms());
  answer.close();
  co_return out;
}

}  // namespace stator::ops
