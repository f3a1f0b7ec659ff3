#include "http/operator_pages.h"

namespace stator::http {

namespace {
constexpr std::string_view kRoot = "/_stator/";
}  // namespace

bool is_operator_path(std::string_view path) {
  return path.substr(0, kRoot.size()) == kRoot;
}

void answer_operator(const net::Request& request, net::Response& response, std::string_view version,
                     const Database& database, const triggers::Mappings* mappings) {
  const std::string_view page = request.path.substr(kRoot.size());
  response.content_type = "application/json";
  const bool is_triggers = page == "triggers" && mappings != nullptr;
  if (page != "health" && page != "insights" && !is_triggers) {
    response.status = 404;
    response.body = R"({"error":"no such page"})";
    return;
  }
  if (request.method != net::Method::kGet && request.method != net::Method::kHead) {
    response.status = 405;
    response.add_header("Allow", "GET, HEAD");
    response.body = R"({"error":"method not allowed"})";
    return;
  }
  if (page == "insights") {
    response.body = database.insights();
    return;
  }
  if (is_triggers) {
    response.body = mappings->report();
    return;
  }
  response.body = R"({"status":"ok","version":")";
  response.body.append(version).append("\"}");
}

}  // namespace stator::http
