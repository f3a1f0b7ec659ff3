// The operator's pages, under a path that no AWS client ever asks for.
#pragma once

#include <string_view>

#include "database/database.h"
#include "net/http_message.h"

namespace stator::http {

// True for everything under /_stator/.
bool is_operator_path(std::string_view path);
inline constexpr std::string_view kMetricsPath = "/_stator/metrics";
// The media type of Prometheus's text format.
inline constexpr std::string_view kMetricsType = "text/plain; version=0.0.4; charset=utf-8";

// GET /_stator/health: {"status":"ok","version":"…"} as long as the process answers.
// GET /_stator/ready: 200 if it takes requests, 503 with the reason if it ends (`ending`) or cannot
// write any more. GET /_stator/insights: the keys that are used most, of tables with contributor
// insights. True for /_stator/metrics with a right method: the caller writes that page. Anything
// else there is 404 or 405.
bool answer_operator(const net::Request& request, net::Response& response, std::string_view version,
                     const Database& database, bool ending);

}  // namespace stator::http
