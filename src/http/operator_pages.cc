#include "http/operator_pages.h"

#include "json/writer.h"

namespace stator::http {

namespace {

constexpr std::string_view kRoot = "/_stator/";

void answer_ready(net::Response& response, const Database& database, bool ending) {
  std::string reason = ending ? "the server is about to end" : database.failure();
  json::Object page(response.body);
  page.string("status", reason.empty() ? "ready" : "not ready");
  if (!reason.empty()) {
    response.status = 503;
    page.string("reason", reason);
  }
  page.close();
}

}  // namespace

bool is_operator_path(std::string_view path) {
  return path.substr(0, kRoot.size()) == kRoot;
}

bool answer_operator(const net::Request& request, net::Response& response, std::string_view version,
                     const Database& database, bool ending) {
  const std::string_view page = request.path.substr(kRoot.size());
  response.content_type = "application/json";
  if (page != "health" && page != "ready" && page != "insights" && page != "metrics") {
    response.status = 404;
    response.body = R"({"error":"no such page"})";
    return false;
  }
  if (request.method != net::Method::kGet && request.method != net::Method::kHead) {
    response.status = 405;
    response.add_header("Allow", "GET, HEAD");
    response.body = R"({"error":"method not allowed"})";
    return false;
  }
  if (page == "metrics") return true;
  if (page == "insights") {
    response.body = database.insights();
  } else if (page == "ready") {
    answer_ready(response, database, ending);
  } else {
    response.body = R"({"status":"ok","version":")";
    response.body.append(version).append("\"}");
  }
  return false;
}

}  // namespace stator::http
