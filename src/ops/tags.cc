#include <algorithm>

#include "json/writer.h"
#include "ops/operation.h"
#include "ops/table_request.h"

namespace stator::ops {

namespace {

constexpr size_t kMaxTags = 50;
constexpr size_t kTagsOnAPage = 10;

// The table that a ResourceArn names.
catalog::TablePtr tagged_table(const Request& request) {
  const std::string_view arn = json::string_member(request.body, "ResourceArn").value_or("");
  if (!arn.starts_with("arn:")) {
    invalid_parameter("ARNs must start with 'arn:': " + std::string(arn));
  }
  const std::string name = table_name_of(request.context, arn);
  const auto table = request.context.catalog.find(name);
  if (table && table->restore) throw_table_not_found(name);
  if (!table) {
    throw ApiError("ResourceNotFoundException",
                   "Requested resource not found: ResourcArn: " + std::string(arn) + " not found");
  }
  return table;
}

}  // namespace

Task<std::string> tag_resource(Request& request) {
  check_shape(request);
  const auto list = json::array_member(request.body, "Tags");
  if (!list || list->size() == 0) invalid("Atleast one Tag needs to be provided as Input.");
  const Tags tags = read_tags(list);
  const auto table = tagged_table(request);
  const std::function<void(catalog::Table&)> change = [&](catalog::Table& changed) {
    for (const auto& [key, value] : tags) {
      const auto at = std::find_if(changed.tags.begin(), changed.tags.end(),
                                   [&](const auto& tag) { return tag.first == key; });
      if (at != changed.tags.end()) {
        at->second = value;
      } else {
        changed.tags.emplace_back(key, value);
      }
    }
    if (changed.tags.size() > kMaxTags) {
      invalid("Number of Tags exceed the current limit for the provided ResourceArn");
    }
  };
  co_await request.context.catalog.update(table->name(), change);
  co_return std::string();
}

Task<std::string> untag_resource(Request& request) {
  check_shape(request);
  const auto list = json::array_member(request.body, "TagKeys");
  if (!list || list->size() == 0) invalid("Atleast one Tag Key needs to be provided as Input.");
  std::vector<std::string> keys;
  for (const json::Element key : *list) keys.emplace_back(std::string_view(key));
  const auto table = tagged_table(request);
  const std::function<void(catalog::Table&)> change = [&](catalog::Table& changed) {
    std::erase_if(changed.tags, [&](const auto& tag) {
      return std::find(keys.begin(), keys.end(), tag.first) != keys.end();
    });
  };
  co_await request.context.catalog.update(table->name(), change);
  co_return std::string();
}

Task<std::string> list_tags_of_resource(Request& request) {
  check_shape(request);
  const auto table = tagged_table(request);
  auto tags = table->tags;
  std::sort(tags.begin(), tags.end());
  // The token is the key after which the next page begins.
  auto from = tags.begin();
  if (const auto token = json::string_member(request.body, "NextToken")) {
    from = std::find_if(tags.begin(), tags.end(),
                        [&](const auto& tag) { return tag.first == *token; });
    if (from == tags.end()) invalid("The provided NextToken is invalid");
    ++from;
  }
  const auto count = std::min<std::ptrdiff_t>(kTagsOnAPage, tags.end() - from);
  std::string out;
  json::Object answer(out);
  json::Array list(answer.key("Tags"));
  for (auto tag = from; tag != from + count; ++tag) {
    json::Object one(list.element());
    one.string("Key", tag->first);
    one.string("Value", tag->second);
    one.close();
  }
  list.close();
  if (from + count != tags.end()) answer.string("NextToken", (from + count - 1)->first);
  answer.close();
  co_return out;
}

}  // namespace stator::ops
