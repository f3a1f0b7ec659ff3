// The Date header's value, formatted once a second.
#pragma once

#include <cstdint>
#include <ctime>
#include <string>
#include <string_view>

namespace stator::net {

// "Sun, 06 Nov 1994 08:49:37 GMT"
std::string format_http_date(int64_t seconds);

// Not thread-safe: one per thread.
class HttpDate {
 public:
  std::string_view now() {
    const int64_t seconds = static_cast<int64_t>(std::time(nullptr));
    if (seconds != seconds_) {
      seconds_ = seconds;
      text_ = format_http_date(seconds);
    }
    return text_;
  }

 private:
  int64_t seconds_ = -1;
  std::string text_;
};

}  // namespace stator::net
