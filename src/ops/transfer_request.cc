#include "ops/transfer_request.h"

#include <algorithm>

#include "common/hex.h"
#include "common/ids.h"

namespace stator::ops {

namespace {

constexpr size_t kMinTokenBytes = 56;  // twice as many digits
constexpr size_t kTokenUnit = 8;
constexpr size_t kMinNameLength = 3;

struct ArnParts {
  std::string_view partition;
  std::string_view service;
  std::string_view region;
  std::string_view account;
  std::string_view resource;
};

// Nothing unless `arn` has six parts and begins as one.
std::optional<ArnParts> split_arn(std::string_view arn) {
  std::string_view parts[5];
  for (std::string_view& part : parts) {
    const size_t colon = arn.find(':');
    if (colon == std::string_view::npos) return std::nullopt;
    part = arn.substr(0, colon);
    arn.remove_prefix(colon + 1);
  }
  if (parts[0] != "arn") return std::nullopt;
  return ArnParts{parts[1], parts[2], parts[3], parts[4], arn};
}

[[noreturn]] void deny_access() {
  throw ApiError("AccessDeniedException", "Access is denied");
}

std::string_view word_of(TransferKind kind) {
  return kind == TransferKind::kExport ? "Export" : "Import";
}

bool is_table_name(std::string_view text) {
  return text.size() >= kMinNameLength && text.size() <= 255 &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '_' || c == '.' || c == '-';
         });
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

void invalid_request(const std::string& text) {
  invalid("Invalid Request: " + text);
}

std::string transfer_id_of(const Context& context, TransferKind kind, std::string_view arn) {
  const std::string word(word_of(kind));
  const auto parts = split_arn(arn);
  if (!parts) invalid("Invalid " + word + " ARN");
  if (!parts->partition.starts_with("aws") || parts->service != "dynamodb" ||
      parts->account != context.account) {
    deny_access();
  }
  const std::string_view middle = kind == TransferKind::kExport ? "/export/" : "/import/";
  std::string_view resource = parts->resource;
  const size_t at = resource.find(middle);
  const bool sound = resource.starts_with("table/") && at != std::string_view::npos &&
                     is_table_name(resource.substr(6, at - 6)) &&
                     at + middle.size() < resource.size();
  if (!sound) invalid("Invalid " + word + " ARN");
  if (parts->region != context.region) {
    const std::string lower = kind == TransferKind::kExport ? "export" : "import";
    throw ApiError(word + "NotFoundException", word + " not found: Invalid " + lower + " arn");
  }
  return std::string(resource.substr(at + middle.size()));
}

void throw_transfer_not_found(TransferKind kind, std::string_view arn) {
  const std::string word(word_of(kind));
  throw ApiError(word + "NotFoundException",
                 word + " not found: " + word + " not found: " + std::string(arn));
}

std::string make_page_token(TransferKind kind, const catalog::Transfer& last) {
  std::string text(kind == TransferKind::kExport ? "e" : "i");
  text.append(last.id).append("/").append(last.table_name);
  text.resize(std::max(kMinTokenBytes, (text.size() + kTokenUnit - 1) / kTokenUnit * kTokenUnit));
  return to_hex(text);
}

std::optional<PagePosition> page_position(const json::Element& body, TransferKind kind) {
  const auto token = json::string_member(body, "NextToken");
  if (!token) return std::nullopt;
  std::string text;
  for (size_t i = 0; i + 1 < token->size(); i += 2) {
    const int high = hex_digit((*token)[i]);
    const int low = hex_digit((*token)[i + 1]);
    if (high < 0 || low < 0) break;
    text.push_back(static_cast<char>(high * 16 + low));
  }
  text.resize(std::min(text.size(), text.find('\0')));
  const size_t slash = text.find('/');
  const bool sound = slash != std::string::npos && token->size() % (2 * kTokenUnit) == 0 &&
                     text[0] == (kind == TransferKind::kExport ? 'e' : 'i');
  if (!sound) invalid_request("Provided nextToken is invalid: " + std::string(*token));
  return PagePosition{text.substr(1, slash - 1), text.substr(slash + 1)};
}

std::string listed_table(const Context& context, std::string_view arn) {
  const auto parts = split_arn(arn);
  if (!parts) invalid("One or more parameter values were invalid: tableArn is not a valid ARN");
  if (parts->account != context.account) deny_access();
  std::string_view name = parts->resource;
  if (!name.starts_with("table/") || !is_table_name(name.substr(6))) {
    invalid_request("Table ARN is invalid.");
  }
  name.remove_prefix(6);
  return parts->region == context.region ? std::string(name) : std::string();
}

std::string own_token() {
  static RandomIds ids;
  return ids.uuid();
}

}  // namespace stator::ops
