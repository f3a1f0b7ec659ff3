#include "json/writer.h"
#include "ops/operation.h"

namespace stator::ops {

Task<std::string> describe_endpoints(Request& request) {
  constexpr int64_t kCachePeriodInMinutes = 1440;
  check_shape(request);
  std::string out;
  json::Object answer(out);
  json::Array endpoints(answer.key("Endpoints"));
  json::Object endpoint(endpoints.element());
  endpoint.string("Address", "dynamodb." + request.context.region + ".amazonaws.com");
  endpoint.integer("CachePeriodInMinutes", kCachePeriodInMinutes);
  endpoint.close();
  endpoints.close();
  answer.close();
  co_return out;
}

}  // namespace stator::ops
