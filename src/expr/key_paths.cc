#include "expr/key_paths.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "expr/expr.h"
#include "model/error.h"

namespace stator::expr {
namespace {

bool any_into(const std::vector<const Path*>& paths, std::string_view attribute) {
  return std::any_of(paths.begin(), paths.end(), [&](const Path* path) {
    return path->is_nested() && path->attribute() == attribute;
  });
}

[[noreturn]] void fail(std::string_view what, const std::string& name) {
  invalid(
      "Key attributes must be scalars; list random access '[]' and map lookup '.' are not "
      "allowed: " +
      std::string(what) + ": " + name);
}

}  // namespace

void check_no_paths_into_keys(const std::vector<const Path*>& paths,
                              const model::TableSchema& table) {
  if (std::none_of(paths.begin(), paths.end(), [](const Path* path) { return path->is_nested(); }))
    return;
  for (size_t i = 0; i < table.key.size(); ++i) {
    if (any_into(paths, table.key.at(i).name)) fail("Key", table.key.at(i).name);
  }
  for_each_index_key(table, [&](const model::Index&, const model::KeyAttribute& key) {
    if (any_into(paths, key.name)) fail("IndexKey", key.name);
  });
}

void check_no_paths_into_keys(const Condition& condition, const model::TableSchema& table) {
  std::vector<const Path*> paths;
  for_each_path(condition, [&](const Path& path) { paths.push_back(&path); });
  check_no_paths_into_keys(paths, table);
}

void check_no_paths_into_keys(const Projection& projection, const model::TableSchema& table) {
  if (projection.is_top_level()) return;
  std::vector<const Path*> paths;
  for (const Path& path : projection.paths()) paths.push_back(&path);
  check_no_paths_into_keys(paths, table);
}

void check_filter_attributes(const Condition& filter, const model::KeySchema& key,
                             std::string_view parameter) {
  std::vector<bool> used(key.size(), false);
  for_each_path(filter, [&](const Path& path) {
    if (const auto position = key.position(path.attribute())) used[*position] = true;
  });
  for (size_t i = 0; i < used.size(); ++i) {
    if (used[i]) {
      invalid(
          std::string(parameter) +
          " can only contain non-primary key attributes: Primary key attribute: " + key.at(i).name);
    }
  }
}

}  // namespace stator::expr
