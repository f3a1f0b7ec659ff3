// The operator's pages, under a path that no AWS client ever asks for.
#pragma once

#include <string_view>

#include "database/database.h"
#include "net/http_message.h"
#include "triggers/mappings.h"

namespace stator::http {

// True for everything under /_stator/.
bool is_operator_path(std::string_view path);

// GET /_stator/health: {"status":"ok","version":"…"}. GET /_stator/insights: the keys that are used
// most, of tables with contributor insights. GET /_stator/triggers: what the event source mappings
// do. Anything else there is 404 or 405.
void answer_operator(const net::Request& request, net::Response& response, std::string_view version,
                     const Database& database, const triggers::Mappings* mappings);

}  // namespace stator::http
