#include "work/transfer_failure.h"

#include <spdlog/spdlog.h>

namespace stator::work {

std::optional<std::string> Patience::failure_of(const objects::ObjectError& error,
                                                const std::string& what, int64_t now_ms) {
  using Kind = objects::ObjectError::Kind;
  switch (error.kind()) {
    case Kind::kStopped:
      return std::nullopt;
    case Kind::kNoSuchBucket:
      return "S3NoSuchBucket";
    case Kind::kAccessDenied:
      return "S3AccessDenied";
    case Kind::kUnavailable:
      break;
    default:
      return "S3Error";
  }
  if (!out_of_reach_since_ms_) {
    out_of_reach_since_ms_ = now_ms;
    spdlog::warn("{} waits: {}", what, error.what());
  }
  if (now_ms < *out_of_reach_since_ms_ + kLimit_ms) return std::nullopt;
  return "S3Unavailable";
}

}  // namespace stator::work
