#include "ops/resource_policy.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "json/writer.h"
#include "ops/operation.h"
#include "ops/table_request.h"

namespace stator::ops {

namespace {

using json::Element;

constexpr size_t kMaxPolicyBytes = 20480;
constexpr std::string_view kNoPolicy = "NO_POLICY";
// Actions of the other service, which the policy of a table cannot allow.
constexpr std::array<std::string_view, 4> kStreamActions = {"describestream", "getrecords",
                                                            "getsharditerator", "liststreams"};

// --- the document

[[noreturn]] void invalid_policy(const std::string& why) {
  invalid_parameter("Invalid policy document: " + why);
}

// The place after the end of the text, where a parser misses what is not there.
std::string end_position(std::string_view text) {
  const auto lines = std::count(text.begin(), text.end(), '\n');
  const size_t line_begin = text.rfind('\n');
  const size_t column =
      line_begin == std::string_view::npos ? text.size() + 1 : text.size() - line_begin;
  return "(" + std::to_string(lines + 1) + "," + std::to_string(column) + ")";
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

// The strings of a member that is one or a list of them.
std::vector<std::string_view> strings_of(const Element& element) {
  std::vector<std::string_view> texts;
  std::string_view text;
  json::ArrayElement list;
  if (element.get(text) == simdjson::SUCCESS) {
    texts.push_back(text);
  } else if (element.get(list) == simdjson::SUCCESS) {
    for (const Element one : list) {
      if (one.get(text) == simdjson::SUCCESS) texts.push_back(text);
    }
  }
  return texts;
}

void check_actions(const Element& actions) {
  std::string bad;
  for (const std::string_view action : strings_of(actions)) {
    const std::string name = lower(action);
    constexpr std::string_view kVendor = "dynamodb:";
    const bool known =
        name == "*" || (name.starts_with(kVendor) && name.size() > kVendor.size() &&
                        std::find(kStreamActions.begin(), kStreamActions.end(),
                                  name.substr(kVendor.size())) == kStreamActions.end());
    if (!known) bad.append(bad.empty() ? "\"" : ", \"").append(action).append("\"");
  }
  if (!bad.empty()) invalid_policy("The following action names are invalid: " + bad);
}

void check_statement(const Element& statement, std::set<std::string>& ids) {
  if (!statement.is_object()) invalid_policy("This policy contains invalid Json");
  const auto effect = json::string_member(statement, "Effect");
  if (!effect) invalid_policy("Missing required field Effect");
  if (*effect != "Allow" && *effect != "Deny")
    invalid_policy("Invalid effect: " + std::string(*effect));
  for (const auto& [name, opposite] :
       {std::pair{"Principal", "NotPrincipal"}, std::pair{"Action", "NotAction"},
        std::pair{"Resource", "NotResource"}}) {
    if (!json::member(statement, name) && !json::member(statement, opposite)) {
      invalid_policy("Missing required field " + std::string(name));
    }
  }
  if (const auto actions = json::member(statement, "Action")) check_actions(*actions);
  if (const auto id = json::string_member(statement, "Sid");
      id && !id->empty() && !ids.emplace(*id).second) {
    invalid_policy("The Statement Ids in the policy are not unique");
  }
}

// One text for all documents that mean the same: members in order, a list of one as that one.
void append_canonical(std::string& out, const Element& element) {
  json::ObjectElement object;
  json::ArrayElement list;
  if (element.get(object) == simdjson::SUCCESS) {
    std::map<std::string_view, Element> members;
    for (const auto field : object) members.emplace(field.key, field.value);
    json::Object sorted(out);
    for (const auto& [name, value] : members) append_canonical(sorted.key(name), value);
    sorted.close();
  } else if (element.get(list) == simdjson::SUCCESS && list.size() == 1) {
    append_canonical(out, list.at(0).value());
  } else if (element.get(list) == simdjson::SUCCESS) {
    json::Array all(out);
    for (const Element one : list) append_canonical(all.element(), one);
    all.close();
  } else {
    out.append(simdjson::minify(element));
  }
}

bool same_policy(const std::string& one, const std::string& other) {
  if (one == other) return true;
  std::string forms[2];
  const std::string* texts[2] = {&one, &other};
  for (int i = 0; i < 2; ++i) {
    json::Document document;
    if (!document.parse(*texts[i])) return false;
    append_canonical(forms[i], document.root());
  }
  return forms[0] == forms[1];
}

// --- the resource

struct PolicyResource {
  std::string arn;
  std::string table;
  std::string stream;  // the label; empty for a table
};

PolicyResource read_resource(const Request& request) {
  const std::string arn(json::string_member(request.body, "ResourceArn").value_or(""));
  if (!arn.starts_with("arn:")) invalid_parameter("ARNs must start with 'arn:': " + arn);
  std::string_view parts[6];
  std::string_view rest = arn;
  for (int i = 0; i < 5; ++i) {
    const size_t colon = rest.find(':');
    if (colon == std::string_view::npos) invalid_parameter("Invalid resource Arn: " + arn);
    parts[i] = rest.substr(0, colon);
    rest.remove_prefix(colon + 1);
  }
  constexpr std::string_view kTable = "table/";
  if (parts[2] != "dynamodb" || !rest.starts_with(kTable) || rest.size() == kTable.size()) {
    invalid_parameter("Provided Arn is not a DynamoDB resource arn: " + arn);
  }
  rest.remove_prefix(kTable.size());
  PolicyResource resource{arn, std::string(rest.substr(0, rest.find('/'))), {}};
  rest.remove_prefix(resource.table.size());
  constexpr std::string_view kStream = "/stream/";
  if (rest.starts_with("/index/")) {
    invalid_parameter(
        "Invalid resource arn provided, only table or stream is accepted. Provided resource arn: " +
        arn);
  }
  if (rest.starts_with(kStream) && rest.size() > kStream.size()) {
    resource.stream = std::string(rest.substr(kStream.size()));
  } else if (!rest.empty()) {
    invalid_parameter("Provided Arn is not a DynamoDB resource arn: " + arn);
  }
  if (parts[1] != "aws" || parts[3] != request.context.region)
    invalid_parameter("Invalid resource Arn: " + arn);
  if (parts[4] != request.context.account) {
    invalid(
        "This action is only supported by accounts that match the resource owner\u2019s account.");
  }
  return resource;
}

[[noreturn]] void throw_stream_not_found(const PolicyResource& resource) {
  throw ApiError("ResourceNotFoundException",
                 "Requested resource not found: Stream: " + resource.stream +
                     " not found for Table: " + resource.table);
}

catalog::TablePtr find_table(const Context& context, const PolicyResource& resource) {
  const auto table = context.catalog.find(resource.table);
  if (!table || table->state(context.clock.now_ms()) == catalog::TableState::kCreating) {
    throw_table_not_found(resource.table);
  }
  if (!resource.stream.empty() && (!table->stream || table->stream->label != resource.stream)) {
    throw_stream_not_found(resource);
  }
  return table;
}

[[noreturn]] void throw_policy_not_found(const std::string& what) {
  throw ApiError("PolicyNotFoundException",
                 "Resource-based policy not found for the provided ResourceArn: " + what);
}

std::string revision_of(const catalog::Table& table) {
  return std::to_string(table.resource_policy_revision_ms);
}

void check_revision(const catalog::Table& table, const std::optional<std::string>& expected) {
  if (!expected) return;
  const bool has_policy = !table.resource_policy.empty();
  if (*expected == kNoPolicy) {
    if (!has_policy) return;
    throw_policy_not_found("Requested policy update expecting none to be present for table " +
                           table.name() + ", but a policy exists with revision id " +
                           revision_of(table) + ".");
  }
  const std::string asked = "Requested update for policy with revision id " + *expected + ", but ";
  if (!has_policy)
    throw_policy_not_found(asked + "table " + table.name() + " has no associated policy.");
  if (*expected == revision_of(table)) return;
  throw_policy_not_found(asked + "the policy associated to target table " + table.name() +
                         " has revision id " + revision_of(table) + ".");
}

void refuse_deleting(const catalog::Table& table, int64_t now_ms) {
  if (table.state(now_ms) != catalog::TableState::kDeleting) return;
  throw ApiError("ResourceInUseException",
                 "Attempt to change a resource which is still in use: Table is being deleted: " +
                     table.name());
}

std::optional<std::string> expected_revision(const Request& request) {
  const auto text = json::string_member(request.body, "ExpectedRevisionId");
  if (!text) return std::nullopt;
  return std::string(*text);
}

std::string revision_answer(const std::string& revision) {
  std::string out;
  json::Object answer(out);
  if (!revision.empty()) answer.string("RevisionId", revision);
  answer.close();
  return out;
}

// Revisions are times; two changes within a millisecond still differ.
int64_t next_revision(const catalog::Table& table, int64_t now_ms) {
  return std::max(now_ms, table.resource_policy_revision_ms + 1);
}

}  // namespace

std::string read_resource_policy(std::string_view text) {
  if (text.size() > kMaxPolicyBytes) {
    invalid_parameter("Maximum policy size of " + std::to_string(kMaxPolicyBytes) +
                      " bytes exceeded");
  }
  json::Document document;
  if (!document.parse(std::string(text))) invalid_policy("This policy contains invalid Json");
  const Element root = document.root();
  if (root.is_null()) invalid_policy("This text appears not to be a policy");
  if (!root.is_object()) invalid_policy("This policy contains invalid Json");
  const auto version = json::member(root, "Version");
  if (version) {
    const auto name = json::string_member(root, "Version").value_or("");
    if (name != "2012-10-17" && name != "2008-10-17") {
      invalid_policy("The policy must contain a valid version string");
    }
  }
  const auto statements = json::member(root, "Statement");
  if (!statements) invalid_policy("Syntax error at position " + end_position(text));
  std::set<std::string> ids;
  json::ArrayElement list;
  if (statements->get(list) == simdjson::SUCCESS) {
    if (list.size() == 0) invalid_policy("Could not parse the policy: Statement is empty!");
    for (const Element statement : list) check_statement(statement, ids);
  } else {
    check_statement(*statements, ids);
  }
  return simdjson::minify(root);
}

Task<std::string> put_resource_policy(Request& request) {
  const Context& context = request.context;
  check_shape(request);
  const PolicyResource resource = read_resource(request);
  const std::string policy = read_resource_policy(*json::string_member(request.body, "Policy"));
  const auto expected = expected_revision(request);
  find_table(context, resource);
  if (!resource.stream.empty()) throw_stream_not_found(resource);  // only tables keep a policy
  const std::function<void(catalog::Table&)> change = [&](catalog::Table& table) {
    refuse_deleting(table, context.clock.now_ms());
    check_revision(table, expected);
    if (!table.resource_policy.empty() && same_policy(table.resource_policy, policy)) return;
    table.resource_policy = policy;
    table.resource_policy_revision_ms = next_revision(table, context.clock.now_ms());
  };
  const auto updated = co_await context.catalog.update(resource.table, change);
  if (!updated) throw_table_not_found(resource.table);
  co_return revision_answer(revision_of(*updated));
}

Task<std::string> get_resource_policy(Request& request) {
  check_shape(request);
  const PolicyResource resource = read_resource(request);
  const auto table = find_table(request.context, resource);
  if (!resource.stream.empty() || table->resource_policy.empty())
    throw_policy_not_found(resource.arn);
  std::string out;
  json::Object answer(out);
  answer.string("Policy", table->resource_policy);
  answer.string("RevisionId", revision_of(*table));
  answer.close();
  co_return out;
}

Task<std::string> delete_resource_policy(Request& request) {
  const Context& context = request.context;
  check_shape(request);
  const PolicyResource resource = read_resource(request);
  const auto expected = expected_revision(request);
  find_table(context, resource);
  if (!resource.stream.empty()) {
    if (expected) {
      throw_policy_not_found("Requested update for policy with revision id " + *expected +
                             ", but table " + resource.table + " has no associated policy.");
    }
    co_return revision_answer({});
  }
  // Of the policy that was there; of its deletion if there was one once.
  std::string revision;
  const std::function<void(catalog::Table&)> change = [&](catalog::Table& table) {
    revision.clear();
    refuse_deleting(table, context.clock.now_ms());
    check_revision(table, expected);
    if (table.resource_policy_revision_ms != 0) revision = revision_of(table);
    if (table.resource_policy.empty()) return;
    table.resource_policy.clear();
    table.resource_policy_revision_ms = next_revision(table, context.clock.now_ms());
  };
  const auto updated = co_await context.catalog.update(resource.table, change);
  if (!updated) throw_table_not_found(resource.table);
  co_return revision_answer(revision);
}

}  // namespace stator::ops
