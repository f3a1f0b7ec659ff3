// The process's log: spdlog's default logger, one line per event on stderr, as text or as JSON.
// Rooms log with spdlog::info(...) and its kin, or with log_event where an event has fields that
// somebody may want to search for; stdout belongs to the ready line alone.
#pragma once

#include <initializer_list>
#include <optional>
#include <string_view>
#include <utility>

#include <spdlog/spdlog.h>

namespace stator {

enum class LogFormat { kText, kJson };

// "trace", "debug", "info", "warn", "error" or "off"; nothing for any other word.
std::optional<spdlog::level::level_enum> parse_log_level(std::string_view word);

// Sends the default logger to stderr. Call once, before the threads start.
void start_logging(spdlog::level::level_enum level, LogFormat format = LogFormat::kText);

using LogFields = std::initializer_list<std::pair<std::string_view, std::string_view>>;
// An event with fields: `message name=value …` as text, members beside "message" as JSON.
void log_event(spdlog::level::level_enum level, std::string_view message, LogFields fields);

// What the two formats make of an event, without time and level; for log_event and its tests.
std::string text_of_event(std::string_view message, LogFields fields);
std::string json_members_of_event(std::string_view message, LogFields fields);

}  // namespace stator
