#include "json/writer.h"
#include "ops/operation.h"
#include "ops/table_description.h"
#include "ops/table_request.h"

namespace stator::ops {

Task<std::string> describe_table(Request& request) {
  const Context& context = request.context;
  require_table_name(request);
  check_shape(request);
  const auto table = shown_table(request);
  const auto sizes = co_await context.store.sizes(*table->schema);
  const int64_t now_ms = context.clock.now_ms();
  std::string out;
  json::Object answer(out);
  append_table_description(answer.key("Table"), *table, table->state(now_ms), sizes, now_ms);
  answer.close();
  co_return out;
}

}  // namespace stator::ops
