#include "ops/scaling_request.h"

namespace stator::ops {

namespace {

constexpr int64_t kMostOnPage = 50;
constexpr std::string_view kNamespace = "dynamodb";

bool fits(std::string_view resource, std::string_view dimension) {
  constexpr std::string_view kTable = "table/";
  constexpr std::string_view kIndex = "/index/";
  if (!resource.starts_with(kTable)) return false;
  const std::string_view name = resource.substr(kTable.size());
  const size_t slash = name.find('/');
  const bool of_index = slash != std::string_view::npos;
  if (name.empty() || slash == 0) return false;
  if (of_index) {
    const std::string_view rest = name.substr(slash);
    if (!rest.starts_with(kIndex) || rest.size() == kIndex.size()) return false;
    if (rest.find('/', kIndex.size()) != std::string_view::npos) return false;
  }
  const std::string_view prefix = of_index ? "dynamodb:index:" : "dynamodb:table:";
  if (!dimension.starts_with(prefix)) return false;
  const std::string_view property = dimension.substr(prefix.size());
  return property == "ReadCapacityUnits" || property == "WriteCapacityUnits";
}

std::string text_of(const Request& request, std::string_view name) {
  return std::string(json::string_member(request.body, name).value_or(""));
}

}  // namespace

bool is_dynamodb(const Request& request) {
  return text_of(request, "ServiceNamespace") == kNamespace;
}

ScalingPlace read_scaling_place(const Request& request) {
  ScalingPlace place{text_of(request, "ResourceId"), text_of(request, "ScalableDimension")};
  if (!is_dynamodb(request) || !fits(place.resource, place.dimension)) {
    invalid("Unsupported service namespace, resource type or scalable dimension");
  }
  return place;
}

std::string describe(const ScalingPlace& place) {
  return "service namespace: " + std::string(kNamespace) + ", resource ID: " + place.resource +
         ", scalable dimension: " + place.dimension;
}

bool ScalingFilter::matches(std::string_view resource, std::string_view asked_dimension) const {
  if (!dimension.empty() && dimension != asked_dimension) return false;
  return resources.empty() ||
         std::find(resources.begin(), resources.end(), resource) != resources.end();
}

ScalingFilter read_scaling_filter(const Request& request) {
  ScalingFilter filter;
  if (const auto list = json::array_member(request.body, "ResourceIds")) {
    for (const json::Element one : *list) filter.resources.emplace_back(std::string_view(one));
  }
  if (const auto one = json::string_member(request.body, "ResourceId"))
    filter.resources.emplace_back(*one);
  filter.dimension = text_of(request, "ScalableDimension");
  if (!filter.dimension.empty() && filter.resources.empty()) {
    invalid("ResourceId must be specified if ScalableDimension is specified");
  }
  return filter;
}

void append_scaling_place(json::Object& object, std::string_view resource,
                          std::string_view dimension) {
  object.string("ServiceNamespace", kNamespace);
  object.string("ResourceId", resource);
  object.string("ScalableDimension", dimension);
}

ScalingPage read_scaling_page(const Request& request, const std::vector<std::string>& names) {
  ScalingPage page;
  if (const auto token = json::string_member(request.body, "NextToken")) {
    const auto last = decode_base64(*token);
    const auto at = last ? std::find(names.begin(), names.end(), *last) : names.end();
    if (at == names.end())
      throw ApiError("InvalidNextTokenException", "The next token supplied is invalid");
    page.begin = static_cast<size_t>(at - names.begin()) + 1;
  }
  const int64_t asked = json::int_member(request.body, "MaxResults").value_or(kMostOnPage);
  if (asked < 1 || asked > kMostOnPage)
    invalid("MaxResults must be between 1 and " + std::to_string(kMostOnPage));
  page.end = std::min(names.size(), page.begin + static_cast<size_t>(asked));
  if (page.end < names.size()) append_base64(page.next_token, names[page.end - 1]);
  return page;
}

}  // namespace stator::ops
