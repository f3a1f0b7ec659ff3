// What the operations of Application Auto Scaling have in common.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/scaling.h"
#include "common/base64.h"
#include "json/writer.h"
#include "ops/operation.h"

namespace stator::ops {

// The names that tell scalable targets apart.
struct ScalingPlace {
  std::string resource;
  std::string dimension;
};
// Throws unless they fit each other: only tables and global indexes can be scaled here.
ScalingPlace read_scaling_place(const Request& request);
// "service namespace: dynamodb, resource ID: …, scalable dimension: …", as errors say it.
std::string describe(const ScalingPlace& place);

// What a Describe operation asks for.
struct ScalingFilter {
  std::vector<std::string> resources;  // none: all
  std::string dimension;               // empty: all
  bool matches(std::string_view resource, std::string_view dimension) const;
};
// Throws for a namespace that is none. One of another service is fine, and has nothing.
ScalingFilter read_scaling_filter(const Request& request);
bool is_dynamodb(const Request& request);

void append_scaling_place(json::Object& object, std::string_view resource,
                          std::string_view dimension);

struct ScalingPage {
  size_t begin = 0;
  size_t end = 0;
  std::string next_token;  // empty with the last page
};
// The part of `names` (one for each result, in order, all different) that the request asks for.
ScalingPage read_scaling_page(const Request& request, const std::vector<std::string>& names);

}  // namespace stator::ops
