// Attribute values without their types, as people read them.
#pragma once

#include <string>

#include "json/reader.h"

namespace stator::client {

// An attribute value ({"S": "x"}) as a person would write it: texts without quotes at the top.
std::string plain_value(const json::Element& typed);
// The same as JSON: numbers as they are, sets as lists, binary values in base64.
std::string json_value(const json::Element& typed);
// An item (a map of attribute values) as a JSON object of plain values.
std::string json_item(const json::Element& item);

}  // namespace stator::client
