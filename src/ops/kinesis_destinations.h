// Which hidden streams go to which Kinesis data streams.
#pragma once

#include <string>
#include <vector>

#include "ops/operation.h"

namespace stator::ops {

struct KinesisFeed {
  std::string stream_arn;
  std::string kinesis_arn;
  std::string precision;
};

std::vector<KinesisFeed> kinesis_feeds(const Context& context);

}  // namespace stator::ops
