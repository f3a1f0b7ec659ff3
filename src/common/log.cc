#include "common/log.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <spdlog/formatter.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <iterator>
#include <memory>
#include <string>

namespace stator {

namespace {

// The sink formats on the thread that logs, so the fields of an event can wait here for it.
thread_local const LogFields* t_fields = nullptr;

bool is_json_format = false;

void append_json_text(std::string& out, std::string_view text) {
  out.push_back('"');
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out.push_back('\\');
      out.push_back(c);
    } else if (static_cast<unsigned char>(c) < 0x20) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out.push_back(c);
    }
  }
  out.push_back('"');
}

// One JSON object a line: time (UTC), level, message, then the event's fields.
class JsonFormatter final : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& to) override {
    const auto whole = std::chrono::time_point_cast<std::chrono::seconds>(message.time);
    const auto ms =
        std::chrono::duration_cast<std::chrono::milliseconds>(message.time - whole).count();
    const std::time_t seconds = std::chrono::system_clock::to_time_t(whole);
    const auto level = spdlog::level::to_string_view(message.level);
    std::string line =
        fmt::format(R"({{"time":"{:%Y-%m-%dT%H:%M:%S}.{:03}Z","level":"{}",)", fmt::gmtime(seconds),
                    ms, std::string_view(level.data(), level.size()));
    const std::string_view payload(message.payload.data(), message.payload.size());
    line.append(json_members_of_event(payload, t_fields != nullptr ? *t_fields : LogFields{}));
    line.append("}\n");
    to.append(line.data(), line.data() + line.size());
  }
  std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<JsonFormatter>();
  }
};

}  // namespace

std::optional<spdlog::level::level_enum> parse_log_level(std::string_view word) {
  if (word == "trace") return spdlog::level::trace;
  if (word == "debug") return spdlog::level::debug;
  if (word == "info") return spdlog::level::info;
  if (word == "warn") return spdlog::level::warn;
  if (word == "error") return spdlog::level::err;
  if (word == "off") return spdlog::level::off;
  return std::nullopt;
}

void start_logging(spdlog::level::level_enum level, LogFormat format) {
  auto logger =
      std::make_shared<spdlog::logger>("stator", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_level(level);
  is_json_format = format == LogFormat::kJson;
  if (is_json_format) {
    logger->set_formatter(std::make_unique<JsonFormatter>());
  } else {
    logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %l %v");
  }
  logger->flush_on(spdlog::level::info);
  spdlog::set_default_logger(std::move(logger));
}

void log_event(spdlog::level::level_enum level, std::string_view message, LogFields fields) {
  if (!spdlog::should_log(level)) return;
  if (!is_json_format) {
    spdlog::log(level, "{}", text_of_event(message, fields));
    return;
  }
  t_fields = &fields;
  spdlog::log(level, "{}", message);
  t_fields = nullptr;
}

std::string text_of_event(std::string_view message, LogFields fields) {
  std::string text(message);
  for (const auto& [name, value] : fields) {
    text.append(" ").append(name).append("=");
    const bool plain = !value.empty() && std::none_of(value.begin(), value.end(), [](char c) {
      return c == ' ' || c == '"' || c == '=' || static_cast<unsigned char>(c) < 0x20;
    });
    if (plain) {
      text.append(value);
    } else {
      append_json_text(text, value);
    }
  }
  return text;
}

std::string json_members_of_event(std::string_view message, LogFields fields) {
  std::string members = "\"message\":";
  append_json_text(members, message);
  for (const auto& [name, value] : fields) {
    members.push_back(',');
    append_json_text(members, name);
    members.push_back(':');
    append_json_text(members, value);
  }
  return members;
}

}  // namespace stator
