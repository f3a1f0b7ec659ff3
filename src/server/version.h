#pragma once

#include <string_view>

namespace stator::server {

// The same as project(VERSION) in CMakeLists.txt, which gives it as STATOR_VERSION.
#ifdef STATOR_VERSION
inline constexpr std::string_view kVersion = STATOR_VERSION;
#else
inline constexpr std::string_view kVersion = "0.1.0";
#endif

}  // namespace stator::server
