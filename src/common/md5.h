// MD5, used only to spread keys; it protects nothing.
#pragma once

#include <array>
#include <initializer_list>
#include <string_view>

namespace stator {

std::array<unsigned char, 16> md5(std::initializer_list<std::string_view> parts);

}  // namespace stator
