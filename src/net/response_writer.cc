#include "net/response_writer.h"

#include <charconv>

namespace stator::net {

namespace {

void append_number(std::string& out, size_t number) {
  char digits[20];
  const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
  out.append(digits, static_cast<size_t>(end - digits));
}

void append_status_line(std::string& out, int status) {
  if (status == 200) {
    out.append("HTTP/1.1 200 OK\r\n");
    return;
  }
  out.append("HTTP/1.1 ");
  append_number(out, static_cast<size_t>(status));
  out.push_back(' ');
  out.append(reason_of(status)).append("\r\n");
}

}  // namespace

std::string_view reason_of(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 413:
      return "Request Entity Too Large";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return status < 400 ? "OK" : "Error";
  }
}

void append_head(std::string& out, const Response& response, std::string_view date,
                 bool keep_alive) {
  append_status_line(out, response.status);
  out.append("Server: Server\r\nDate: ").append(date);
  if (!response.content_type.empty()) {
    out.append("\r\nContent-Type: ").append(response.content_type);
  }
  out.append("\r\nContent-Length: ");
  append_number(out, response.body.size());
  out.append(keep_alive ? "\r\nConnection: keep-alive\r\n" : "\r\nConnection: close\r\n");
  out.append(response.headers).append("\r\n");
}

void append_refusal(std::string& out, int status, std::string_view date) {
  append_status_line(out, status);
  out.append("Server: Server\r\nDate: ").append(date);
  if (status == 413) {
    out.append("\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n0\r\n\r\n");
  } else {
    out.append("\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
  }
}

}  // namespace stator::net
