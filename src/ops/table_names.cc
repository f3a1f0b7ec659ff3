// TableName members: plain names and ARNs.
#include <algorithm>

#include "ops/operation.h"

namespace stator::ops {

namespace {

constexpr std::string_view kArnStart = "arn:";

// The parts of arn:aws:dynamodb:region:account:table/name.
struct TableArn {
  std::string_view region;
  std::string_view account;
  std::string_view name;
};

[[noreturn]] void invalid_arn(std::string_view arn) {
  invalid("Invalid TableArn: Invalid ResourceArn provided as input " + std::string(arn));
}

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= 255 && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '-';
  });
}

TableArn parse_arn(std::string_view arn) {
  std::string_view parts[6];
  std::string_view rest = arn;
  for (int i = 0; i < 5; ++i) {
    const size_t colon = rest.find(':');
    if (colon == std::string_view::npos) invalid_arn(arn);
    parts[i] = rest.substr(0, colon);
    rest.remove_prefix(colon + 1);
  }
  constexpr std::string_view kTable = "table/";
  // Partitions other than the first have names of their own: aws-cn, aws-us-gov.
  const bool sound = parts[1].starts_with("aws") && parts[2] == "dynamodb" && !parts[3].empty() &&
                     parts[4].size() == 12 && rest.starts_with(kTable) &&
                     is_name(rest.substr(kTable.size()));
  if (!sound) invalid_arn(arn);
  return {parts[3], parts[4], rest.substr(kTable.size())};
}

// Points into `name_or_arn`.
std::string_view plain_name(const Context& context, std::string_view name_or_arn) {
  if (!name_or_arn.starts_with(kArnStart)) return name_or_arn;
  const TableArn arn = parse_arn(name_or_arn);
  // There are no other accounts here that could have let this caller in.
  if (arn.account != context.account) {
    throw ApiError(
        "AccessDeniedException",
        "User: arn:aws:iam::" + context.account +
            ":root is not authorized to access this resource: " + std::string(name_or_arn) +
            " because no resource-based policy allows the action");
  }
  if (arn.region != context.region)
    throw ApiError("ResourceNotFoundException", "Requested resource not found");
  return arn.name;
}

}  // namespace

std::string table_name_of(const Context& context, std::string_view name_or_arn) {
  return std::string(plain_name(context, name_or_arn));
}

catalog::TablePtr active_table(const Context& context, std::string_view name_or_arn) {
  auto table = context.catalog.find(plain_name(context, name_or_arn));
  if (table) {
    const auto state = table->state(context.clock.now_ms());
    if (state == catalog::TableState::kActive || state == catalog::TableState::kUpdating)
      return table;
  }
  throw ApiError("ResourceNotFoundException", "Requested resource not found");
}

}  // namespace stator::ops
