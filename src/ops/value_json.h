// Attribute values and items from and to the JSON of the wire.
#pragma once

#include <string>
#include <string_view>

#include "expr/bindings.h"
#include "json/reader.h"
#include "model/value.h"

namespace stator::ops {

// Deepest that a value may be wrapped in lists and maps.
inline constexpr int kMaxNesting = 31;

// Reads a value whose JSON types have been checked (shape.h). Throws a ValidationException, worded
// as the service does for that operation, for what is no value: several types, a bad number,
// duplicates in a set, too deep.
model::Value read_value(const json::Element& element, expr::Wording wording);
// The same for a map of them: an item or a key.
model::Item read_item(const json::Element& object, expr::Wording wording);

// How deep lists and maps are nested in any attribute value of this part of a request; stops
// counting at `enough`.
int value_depth(const json::Element& element, int enough);

void append_value(std::string& out, const model::Value& value);
void append_item(std::string& out, const model::Item& item);
// The same straight from the stored form (model/codec.h), without building the item.
void append_encoded_item(std::string& out, std::string_view encoded);

}  // namespace stator::ops
