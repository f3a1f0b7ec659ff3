// The part of Lambda's REST API that is served: event source mappings.
#pragma once

#include <string>
#include <string_view>

#include "common/task.h"
#include "net/http_message.h"
#include "triggers/mappings.h"

namespace stator::triggers {

// True for a path below /2015-03-31/event-source-mappings.
bool is_mappings_path(std::string_view path);

struct ApiAnswer {
  int status = 200;
  std::string error_type;  // for x-amzn-ErrorType; empty for a success
  std::string body;        // JSON
};

// POST and GET of the collection, GET, PUT and DELETE of one. Never throws. The arguments are taken
// whole, since what they point to may be gone after the first wait.
Task<ApiAnswer> answer_api(Mappings& mappings, net::Method method, std::string path,
                           std::string query, std::string body);

}  // namespace stator::triggers
