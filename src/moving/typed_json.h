// Plain JSON as DynamoDB's JSON with types, as a document client would write it.
#pragma once

#include <string>
#include <string_view>

#include "json/reader.h"

namespace stator::moving {

// An object of plain JSON as an item: texts, numbers (with all their digits), truth values, null,
// lists and maps. Throws std::runtime_error if the text is not one JSON object.
std::string typed_item(std::string_view plain);

// True if every member of the object looks like {"S": "…"}: an item with types.
bool is_typed_item(const json::Element& object);

// The request that creates a table like the one that DescribeTable described, without its name.
std::string create_request_of(const json::Element& description);

}  // namespace stator::moving
