// Base64 as the wire uses it: standard alphabet, padded.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace stator {

void append_base64(std::string& out, std::string_view bytes);
// nullopt unless `text` is strict base64: padded, and without stray bits.
std::optional<std::string> decode_base64(std::string_view text);

}  // namespace stator
