// What CreateEventSourceMapping and UpdateEventSourceMapping ask for, checked.
#pragma once

#include <string>

#include "json/reader.h"
#include "triggers/invoker.h"
#include "triggers/mapping.h"

namespace stator::triggers {

struct RequestContext {
  const std::string& region;
  const std::string& account;
  const Invoker& invoker;  // knows which functions and destinations there are
};

// Both throw LambdaError.
Mapping read_create(const json::Element& request, const RequestContext& context);
// Changes what the request names. Checks everything before it changes anything.
void read_update(const json::Element& request, const RequestContext& context, Mapping& mapping);

}  // namespace stator::triggers
