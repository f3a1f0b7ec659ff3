// Puts the head of an answer into bytes. Internal to net.
#pragma once

#include <string>
#include <string_view>

#include "net/http_message.h"

namespace stator::net {

// Appends status line, headers and the empty line. Content-Length is the body's size, also for an
// answer to HEAD.
void append_head(std::string& out, const Response& response, std::string_view date,
                 bool keep_alive);

// An answer that ends the connection before its request was understood. A body that is too large
// gets what the service sends: a chunked answer without content.
void append_refusal(std::string& out, int status, std::string_view date);

std::string_view reason_of(int status);

}  // namespace stator::net
