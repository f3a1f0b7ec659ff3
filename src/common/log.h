// The process's log: spdlog's default logger, one line per event on stderr. Rooms log with
// spdlog::info(...) and its kin; stdout belongs to the ready line alone.
#pragma once

#include <optional>
#include <string_view>

#include <spdlog/spdlog.h>

namespace stator {

// "trace", "debug", "info", "warn", "error" or "off"; nothing for any other word.
std::optional<spdlog::level::level_enum> parse_log_level(std::string_view word);

// Sends the default logger to stderr. Call once, before the threads start.
void start_logging(spdlog::level::level_enum level);

}  // namespace stator
