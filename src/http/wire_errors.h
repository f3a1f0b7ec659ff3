// Errors that a request meets before any operation sees it, in the service's own form.
#pragma once

#include <string>
#include <string_view>

#include "net/http_message.h"
#include "net/signature.h"

namespace stator::http {

// {"__type":"com.amazon.coral.service#UnknownOperationException"}, with a message if there is one.
std::string coral_error(std::string_view name, std::string_view message = {});

std::string signature_error(const net::SignatureError& error);
// "MissingAuthenticationTokenException" and the like.
std::string_view signature_error_name(const net::SignatureError& error);
// {"message":"…"}: what Lambda answers, its errors' names being in a header.
std::string lambda_error(std::string_view message);

// The service could not do it, and says no more. Also what a body gets that is not in the coding it
// claims.
inline constexpr std::string_view kInternalServerError =
    R"({"__type":"com.amazonaws.dynamodb.v20120810#InternalServerError","message":"Internal server error"})";

// What the service answers with 404 to anything that is no request to it.
inline constexpr std::string_view kUnknownOperationPage = "<UnknownOperationException/>\n";

}  // namespace stator::http
