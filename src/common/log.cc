#include "common/log.h"

#include <spdlog/sinks/stdout_sinks.h>

#include <memory>

namespace stator {

std::optional<spdlog::level::level_enum> parse_log_level(std::string_view word) {
  if (word == "trace") return spdlog::level::trace;
  if (word == "debug") return spdlog::level::debug;
  if (word == "info") return spdlog::level::info;
  if (word == "warn") return spdlog::level::warn;
  if (word == "error") return spdlog::level::err;
  if (word == "off") return spdlog::level::off;
  return std::nullopt;
}

void start_logging(spdlog::level::level_enum level) {
  auto logger =
      std::make_shared<spdlog::logger>("stator", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_level(level);
  logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %l %v");
  logger->flush_on(spdlog::level::info);
  spdlog::set_default_logger(std::move(logger));
}

}  // namespace stator
