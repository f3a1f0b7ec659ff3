// Tables for tests of the catalog.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "catalog/table.h"

namespace stator::catalog {

// A table as CreateTable hands it over: key pk and sk, a local index and a global one.
inline Table make_table(std::string name) {
  auto schema = std::make_shared<model::TableSchema>();
  schema->name = std::move(name);
  schema->key.partition = {{"pk", model::KeyType::kString}};
  schema->key.sort = {{"sk", model::KeyType::kNumber}};

  model::Index local;
  local.name = "local";
  local.key = {.partition = {{"pk", model::KeyType::kString}},
               .sort = {{"l", model::KeyType::kBinary}}};
  local.projection = model::ProjectionType::kKeysOnly;
  schema->indexes.push_back(std::move(local));

  model::Index global;
  global.name = "global";
  global.global = true;
  global.key = {.partition = {{"g", model::KeyType::kString}, {"h", model::KeyType::kString}},
                .sort = {{"sk", model::KeyType::kNumber}}};
  global.projection = model::ProjectionType::kInclude;
  global.included = {"z", "a"};
  schema->indexes.push_back(std::move(global));

  Table table;
  table.schema = std::move(schema);
  table.index_capacity.resize(2);
  table.index_capacity[1].provisioned = {.read_units = 3, .write_units = 4};
  table.capacity.provisioned = {.read_units = 5, .write_units = 6};
  table.attribute_definitions = {{"g", model::KeyType::kString},
                                 {"h", model::KeyType::kString},
                                 {"l", model::KeyType::kBinary},
                                 {"pk", model::KeyType::kString},
                                 {"sk", model::KeyType::kNumber}};
  return table;
}

}  // namespace stator::catalog
