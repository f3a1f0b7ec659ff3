#include "json/writer.h"
#include "ops/operation.h"

namespace stator::ops {

Task<std::string> list_tables(Request& request) {
  constexpr size_t kMaxNames = 100;
  check_shape(request);
  const auto limit =
      static_cast<size_t>(json::int_member(request.body, "Limit").value_or(kMaxNames));
  const auto after = json::string_member(request.body, "ExclusiveStartTableName").value_or("");
  // One more than asked for tells whether there are more.
  const auto tables = request.context.catalog.list(after, limit + 1);
  const size_t count = std::min(limit, tables.size());

  std::string out;
  json::Object answer(out);
  json::Array names(answer.key("TableNames"));
  for (size_t i = 0; i < count; ++i) json::append_quoted(names.element(), tables[i]->name());
  names.close();
  if (tables.size() > limit) answer.string("LastEvaluatedTableName", tables[count - 1]->name());
  answer.close();
  co_return out;
}

}  // namespace stator::ops
