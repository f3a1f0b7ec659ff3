#include "expr/projection.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace stator::expr {
namespace {

using model::Item;
using model::List;
using model::Map;
using model::Type;
using model::Value;

bool before(const Path* a, const Path* b, size_t depth) {
  const PathElement& x = a->elements()[depth];
  const PathElement& y = b->elements()[depth];
  return x.is_index ? x.index < y.index : x.name < y.name;
}

// What paths[begin, end), which share their first `depth` elements, find below `value`; nullopt if
// nothing. Paths do not conflict, so at each depth all are names or all are indexes, and none ends
// before another.
std::optional<Value> pick(const Value& value, std::vector<const Path*>::iterator begin,
                          std::vector<const Path*>::iterator end, size_t depth) {
  if ((*begin)->elements().size() == depth) return value;
  if ((*begin)->elements()[depth].is_index) {
    if (!value.is(Type::kList)) return std::nullopt;
  } else if (!value.is(Type::kMap)) {
    return std::nullopt;
  }
  std::sort(begin, end, [depth](const Path* a, const Path* b) { return before(a, b, depth); });
  List list;
  Map map;
  while (begin != end) {
    const PathElement& element = (*begin)->elements()[depth];
    const auto next = std::find_if(
        begin, end, [&](const Path* path) { return !(path->elements()[depth] == element); });
    const Value* child = nullptr;
    if (!element.is_index) {
      child = value.as_map().find(element.name);
    } else if (element.index < value.as_list().size()) {
      child = &value.as_list()[element.index];
    }
    if (child != nullptr) {
      if (std::optional<Value> picked = pick(*child, begin, next, depth + 1)) {
        if (element.is_index) {
          list.push_back(std::move(*picked));
        } else {
          map.append_sorted(element.name, std::move(*picked));
        }
      }
    }
    begin = next;
  }
  if (!list.empty()) return Value::list(std::move(list));
  if (!map.empty()) return Value::map(std::move(map));
  return std::nullopt;
}

}  // namespace

Projection::Projection(std::vector<Path> paths) : paths_(std::move(paths)) {
  names_.reserve(paths_.size());
  for (const Path& path : paths_) {
    names_.push_back(path.attribute());
    top_level_ = top_level_ && !path.is_nested();
  }
  std::sort(names_.begin(), names_.end());
  names_.erase(std::unique(names_.begin(), names_.end()), names_.end());
}

Item project(const Projection& projection, const Item& item) {
  Item out;
  if (projection.is_top_level()) {
    for (const std::string& name : projection.top_level_names()) {
      if (const Value* value = item.find(name)) out.append_sorted(name, *value);
    }
    return out;
  }
  std::vector<const Path*> paths;
  paths.reserve(projection.paths().size());
  for (const Path& path : projection.paths()) paths.push_back(&path);
  std::sort(paths.begin(), paths.end(),
            [](const Path* a, const Path* b) { return before(a, b, 0); });
  for (auto begin = paths.begin(); begin != paths.end();) {
    const std::string& name = (*begin)->attribute();
    const auto next = std::find_if(begin, paths.end(),
                                   [&](const Path* path) { return path->attribute() != name; });
    if (const Value* value = item.find(name)) {
      if (std::optional<Value> picked = pick(*value, begin, next, 1))
        out.append_sorted(name, std::move(*picked));
    }
    begin = next;
  }
  return out;
}

}  // namespace stator::expr
