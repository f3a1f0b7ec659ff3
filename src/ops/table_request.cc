#include "ops/table_request.h"

#include <algorithm>
#include <ctime>
#include <set>

namespace stator::ops {

namespace {

constexpr int64_t kMaxUnits = 1'000'000'000'000;
constexpr size_t kMaxKeyAttributes = 4;  // of each kind, in a global index
constexpr size_t kMaxTags = 50;

using json::Element;

std::string list_names(const KeyElements& elements) {
  std::string out = "[";
  for (size_t i = 0; i < elements.size(); ++i)
    out.append(i > 0 ? ", " : "").append(elements[i].name);
  return out + "]";
}

std::string list_names(const Definitions& definitions) {
  std::string out = "[";
  for (size_t i = 0; i < definitions.size(); ++i)
    out.append(i > 0 ? ", " : "").append(definitions[i].name);
  return out + "]";
}

const model::KeyAttribute* find_definition(const Definitions& definitions, std::string_view name) {
  const auto found = std::find_if(definitions.begin(), definitions.end(),
                                  [&](const auto& d) { return d.name == name; });
  return found == definitions.end() ? nullptr : &*found;
}

std::string in_use(std::string_view what, const std::string& name) {
  return "Attempt to change a resource which is still in use: Table is being " + std::string(what) +
         ": " + name;
}

}  // namespace

void invalid_parameter(const std::string& text) {
  invalid("One or more parameter values were invalid: " + text);
}

void require_table_name(const Request& request) {
  if (json::member(request.body, "TableName")) return;
  invalid("The parameter 'TableName' is required but was not present in the request");
}

void throw_table_not_found(std::string_view name) {
  throw ApiError("ResourceNotFoundException",
                 "Requested resource not found: Table: " + std::string(name) + " not found");
}

catalog::TablePtr shown_table(const Request& request) {
  const auto name = table_name_of(request.context, *json::string_member(request.body, "TableName"));
  auto table = request.context.catalog.find(name);
  if (!table) throw_table_not_found(name);
  return table;
}

catalog::TablePtr existing_table(const Request& request) {
  auto table = shown_table(request);
  if (table->restore) throw_table_not_found(table->name());
  return table;
}

void refuse_unless_active(const catalog::Table& table, int64_t now_ms) {
  switch (table.state(now_ms)) {
    case catalog::TableState::kActive:
      return;
    case catalog::TableState::kCreating:
      throw ApiError("ResourceInUseException", in_use("created", table.name()));
    case catalog::TableState::kUpdating:
      throw ApiError("ResourceInUseException", in_use("updated", table.name()));
    case catalog::TableState::kDeleting:
      throw ApiError("ResourceInUseException", in_use("deleted", table.name()));
    case catalog::TableState::kGone:
      throw_table_not_found(table.name());
  }
}

Definitions read_definitions(const std::optional<json::ArrayElement>& list) {
  Definitions definitions;
  if (!list) return definitions;
  for (const Element element : *list) {
    const auto type = json::string_member(element, "AttributeType").value_or("");
    definitions.push_back({std::string(json::string_member(element, "AttributeName").value_or("")),
                           type == "N"   ? model::KeyType::kNumber
                           : type == "B" ? model::KeyType::kBinary
                                         : model::KeyType::kString});
  }
  return definitions;
}

KeyElements read_key_elements(const json::ArrayElement& list) {
  KeyElements elements;
  for (const Element element : list) {
    elements.push_back({std::string(json::string_member(element, "AttributeName").value_or("")),
                        json::string_member(element, "KeyType").value_or("") == "HASH"});
  }
  return elements;
}

void check_defined(const KeyElements& elements, const Definitions& definitions) {
  const bool all = std::all_of(elements.begin(), elements.end(), [&](const KeyElement& element) {
    return find_definition(definitions, element.name) != nullptr;
  });
  if (all) return;
  invalid_parameter("Some index key attributes are not defined in AttributeDefinitions. Keys: " +
                    list_names(elements) + ", AttributeDefinitions: " + list_names(definitions));
}

void check_simple_key(const KeyElements& elements) {
  if (elements.size() > 1 && elements[0].name == elements[1].name) {
    invalid("Both the Hash Key and the Range Key element in the KeySchema have the same name");
  }
  if (!elements[0].hash)
    invalid("Invalid KeySchema: The first KeySchemaElement is not a HASH key type");
  if (elements.size() > 1 && elements[1].hash) {
    invalid("Invalid KeySchema: The second KeySchemaElement is not a RANGE key type");
  }
}

void check_global_key(const KeyElements& elements) {
  std::set<std::string_view> names;
  for (const KeyElement& element : elements) {
    if (!names.insert(element.name).second) {
      invalid("The KeySchema contains multiple key attributes with the same name");
    }
  }
  if (!elements[0].hash)
    invalid("Invalid KeySchema: The first KeySchemaElement is not a HASH key type");
  const bool sorted = std::is_partitioned(elements.begin(), elements.end(),
                                          [](const KeyElement& element) { return element.hash; });
  if (!sorted)
    invalid_parameter("All HASH key attributes must precede RANGE key attributes in the KeySchema");
  const auto hashes = static_cast<size_t>(std::count_if(
      elements.begin(), elements.end(), [](const KeyElement& element) { return element.hash; }));
  if (hashes > kMaxKeyAttributes) {
    invalid_parameter("The KeySchema exceeds the maximum allowed number of HASH key attributes");
  }
  if (elements.size() - hashes > kMaxKeyAttributes) {
    invalid_parameter("The KeySchema exceeds the maximum allowed number of RANGE key attributes");
  }
}

model::KeySchema make_key(const KeyElements& elements, const Definitions& definitions) {
  model::KeySchema key;
  for (const KeyElement& element : elements) {
    (element.hash ? key.partition : key.sort)
        .push_back(*find_definition(definitions, element.name));
  }
  return key;
}

void read_projection(const json::Element& index_request, model::Index& index) {
  const auto projection = *json::member(index_request, "Projection");
  const auto type = json::string_member(projection, "ProjectionType");
  if (!type) invalid_parameter("Unknown ProjectionType: null");
  const auto included = json::array_member(projection, "NonKeyAttributes");
  if (*type == "INCLUDE") {
    if (!included)
      invalid_parameter("ProjectionType is INCLUDE, but NonKeyAttributes is not specified");
    index.projection = model::ProjectionType::kInclude;
    for (const Element name : *included) {
      if (name.is_null()) continue;
      index.included.emplace_back(std::string_view(name));
      if (std::count(index.included.begin(), index.included.end(), index.included.back()) > 1) {
        invalid_parameter("Duplicate element in NonKeyAttributes: " + index.included.back());
      }
    }
    return;
  }
  if (included) {
    invalid_parameter("ProjectionType is " + std::string(*type) +
                      ", but NonKeyAttributes is specified");
  }
  index.projection =
      *type == "ALL" ? model::ProjectionType::kAll : model::ProjectionType::kKeysOnly;
}

std::optional<std::pair<int64_t, int64_t>> read_throughput(const json::Element& element) {
  const auto throughput = json::member(element, "ProvisionedThroughput");
  if (!throughput) return std::nullopt;
  return std::pair{json::int_member(*throughput, "ReadCapacityUnits").value_or(0),
                   json::int_member(*throughput, "WriteCapacityUnits").value_or(0)};
}

void check_throughput_bounds(const std::pair<int64_t, int64_t>& units) {
  if (units.first > kMaxUnits) {
    invalid("Given value " + std::to_string(units.first) +
            " for ReadCapacityUnits is out of bounds");
  }
  if (units.second > kMaxUnits) {
    invalid("Given value " + std::to_string(units.second) +
            " for WriteCapacityUnits is out of bounds");
  }
}

void read_on_demand(const json::Element& element, catalog::BillingMode billing,
                    std::string_view index, catalog::Capacity& capacity) {
  const auto throughput = json::member(element, "OnDemandThroughput");
  if (!throughput) return;
  const std::string of = index.empty() ? "table" : "index: " + std::string(index);
  const auto read = [&](std::string_view name, std::optional<int64_t>& target) {
    const auto units = json::int_member(*throughput, name);
    if (!units) return;
    if (billing == catalog::BillingMode::kProvisioned) {
      invalid_parameter(
          std::string(name) +
          " for OnDemandThroughput cannot be specified when table BillingMode is PROVISIONED.");
    }
    if (*units < -1 || *units == 0) {
      invalid_parameter("Requested " + std::string(name) + " for OnDemandThroughput for " + of +
                        " is outside of valid range");
    }
    // -1 takes the limit away.
    target = *units == -1 ? std::nullopt : units;
  };
  read("MaxReadRequestUnits", capacity.max_read_request_units);
  read("MaxWriteRequestUnits", capacity.max_write_request_units);
}

void read_warm(const json::Element& element, catalog::Capacity& capacity) {
  const auto warm = json::member(element, "WarmThroughput");
  if (!warm) return;
  const auto read = [&](std::string_view name, std::optional<int64_t>& target) {
    const auto units = json::int_member(*warm, name);
    if (!units) return;
    if (*units < 1)
      invalid_parameter("Requested " + std::string(name) +
                        " for WarmThroughput is outside of valid range");
    target = units;
  };
  read("ReadUnitsPerSecond", capacity.warm_read_units);
  read("WriteUnitsPerSecond", capacity.warm_write_units);
}

GlobalIndex read_global_index(const json::Element& request, const Definitions& definitions,
                              catalog::BillingMode billing) {
  GlobalIndex read;
  read.index.global = true;
  read.index.name = std::string(*json::string_member(request, "IndexName"));
  const std::string& name = read.index.name;
  const auto elements = read_key_elements(*json::array_member(request, "KeySchema"));
  check_defined(elements, definitions);
  check_global_key(elements);
  read_projection(request, read.index);
  const auto units = read_throughput(request);
  if (billing == catalog::BillingMode::kPayPerRequest) {
    if (units) {
      invalid_parameter("ProvisionedThroughput should not be specified for index: " + name +
                        " when BillingMode is PAY_PER_REQUEST");
    }
  } else {
    if (!units) invalid_parameter("ProvisionedThroughput is not specified for index: " + name);
    check_throughput_bounds(*units);
    read.capacity.provisioned = {.read_units = units->first, .write_units = units->second};
  }
  read_on_demand(request, billing, name, read.capacity);
  read_warm(request, read.capacity);
  read.index.key = make_key(elements, definitions);
  return read;
}

std::string read_table_class(const json::Element& body) {
  const auto table_class = json::string_member(body, "TableClass");
  if (!table_class) return {};
  if (*table_class != "STANDARD" && *table_class != "STANDARD_INFREQUENT_ACCESS") {
    invalid(
        "Invalid table-class parameter provided. Please try again with a valid table-class value: "
        "[STANDARD, "
        "STANDARD_INFREQUENT_ACCESS].");
  }
  return std::string(*table_class);
}

std::optional<catalog::EncryptionSettings> read_encryption(const Context& context,
                                                           const json::Element& body,
                                                           std::string_view name) {
  const auto specification = json::member(body, name);
  if (!specification) return std::nullopt;
  const bool enabled = json::bool_member(*specification, "Enabled").value_or(false);
  const auto type = json::string_member(*specification, "SSEType");
  const auto key = json::string_member(*specification, "KMSMasterKeyId");
  if (!enabled) {
    if (type) invalid_parameter("SSEType can not be specified if Enabled is false");
    if (key) invalid_parameter("KMSMasterKeyId can not be specified if Enabled is false");
    return catalog::EncryptionSettings{};
  }
  if (type == "AES256") invalid_parameter("SSEType AES256 is not supported");
  if (key && !type) invalid_parameter("SSEType KMS is required if KMSMasterKeyId is specified");
  catalog::EncryptionSettings settings{
      .enabled = true, .kms_key_arn = std::string(key.value_or("alias/aws/dynamodb"))};
  if (!settings.kms_key_arn.starts_with("arn:")) {
    const std::string kind = settings.kms_key_arn.starts_with("alias/") ? "" : "key/";
    settings.kms_key_arn =
        "arn:aws:kms:" + context.region + ":" + context.account + ":" + kind + settings.kms_key_arn;
  }
  return settings;
}

Tags read_tags(const std::optional<json::ArrayElement>& list) {
  Tags tags;
  if (!list) return tags;
  std::set<std::string> seen;
  for (const Element element : *list) {
    std::string key(json::string_member(element, "Key").value_or(""));
    if (key.starts_with("aws:")) invalid("Tag Key cannot be prefixed with aws:, Key: " + key);
    if (!seen.insert(key).second)
      invalid("Duplicate Tag Keys provided as input: Duplicate Tag Key found " + key);
    tags.emplace_back(std::move(key),
                      std::string(json::string_member(element, "Value").value_or("")));
  }
  if (tags.size() > kMaxTags)
    invalid("Number of Tags exceed the current limit for the provided ResourceArn");
  return tags;
}

}  // namespace stator::ops
