// What the requests about exports and imports have in common: ARNs, tokens of pages.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "catalog/transfers.h"
#include "ops/operation.h"

namespace stator::ops {

// Exports and imports word the same errors with their own name.
enum class TransferKind { kExport, kImport };

// Throws "Invalid Request: ...".
[[noreturn]] void invalid_request(const std::string& text);

// The id in an ExportArn or ImportArn of the request. Throws for what is no such ARN, or one of
// another account or region.
std::string transfer_id_of(const Context& context, TransferKind kind, std::string_view arn);
[[noreturn]] void throw_transfer_not_found(TransferKind kind, std::string_view arn);

// A page's token, of the form that the service has.
std::string make_page_token(TransferKind kind, const catalog::Transfer& last);
struct PagePosition {
  std::string id;
  std::string table_name;
};
// Of the request's NextToken, if it has one. Throws for a token that is none.
std::optional<PagePosition> page_position(const json::Element& body, TransferKind kind);

// The table that a TableArn of ListExports and ListImports names. Throws for what is no ARN of a
// table here.
std::string listed_table(const Context& context, std::string_view arn);

// A token for a request without one.
std::string own_token();

}  // namespace stator::ops
