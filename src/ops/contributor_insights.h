// What contributor insights have counted, for the operator.
#pragma once

#include <string>

#include "ops/operation.h"

namespace stator::ops {

// {"insights":[{"table","index","mode","since","accessed":{"partition_keys":[{"key","count","error"}],"items"},
// "throttled":{…}}]}: the ten most frequent keys of everything with insights. `count` is at most
// `error` too high.
std::string insights_report(const Context& context);

}  // namespace stator::ops
