#include "json/writer.h"
#include "ops/operation.h"

namespace stator::ops {

// The service's default quotas. Nothing here enforces them.
Task<std::string> describe_limits(Request& request) {
  check_shape(request);
  std::string out;
  json::Object answer(out);
  answer.integer("AccountMaxReadCapacityUnits", 80'000);
  answer.integer("AccountMaxWriteCapacityUnits", 80'000);
  answer.integer("TableMaxReadCapacityUnits", 40'000);
  answer.integer("TableMaxWriteCapacityUnits", 40'000);
  answer.close();
  co_return out;
}

}  // namespace stator::ops
