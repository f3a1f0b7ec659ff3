#include "expr/update.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "expr/key_paths.h"
#include "expr/projection.h"
#include "model/error.h"

namespace stator::expr {
namespace {

using model::Item;
using model::List;
using model::Number;
using model::Type;
using model::Value;

constexpr size_t kMaxNesting = 31;  // of lists and maps in an attribute's value
constexpr std::string_view kWrongType =
    "An operand in the update expression has an incorrect data type";
constexpr std::string_view kWrongTypeLegacy = "Type mismatch for attribute to update";
constexpr std::string_view kMissing =
    "The provided expression refers to an attribute that does not exist in the item";
constexpr std::string_view kWrongPath =
    "The document path provided in the update expression is invalid for update";
constexpr std::string_view kOverflow =
    "Number overflow. Attempting to store a number with magnitude larger than supported range";
constexpr std::string_view kUnderflow =
    "Number underflow. Attempting to store a number with magnitude smaller than supported range";

[[noreturn]] void fail(std::string_view message) {
  invalid(std::string(message));
}

Value add_numbers(const Value& a, const Value& b, bool subtract) {
  Number::ParseError error = Number::ParseError::kNone;
  const auto sum = subtract ? Number::subtract(a.as_number(), b.as_number(), &error)
                            : Number::add(a.as_number(), b.as_number(), &error);
  // A sum of more than 38 digits is called an overflow, too.
  if (!sum) fail(error == Number::ParseError::kUnderflow ? kUnderflow : kOverflow);
  return Value::number(*sum);
}

template <typename Member>
std::vector<Member> united(const std::vector<Member>& a, const std::vector<Member>& b) {
  std::vector<Member> out;
  out.reserve(a.size() + b.size());
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out));
  return out;
}

template <typename Member>
std::vector<Member> without(const std::vector<Member>& a, const std::vector<Member>& b) {
  std::vector<Member> out;
  out.reserve(a.size());
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out));
  return out;
}

Value unite_sets(const Value& a, const Value& b) {
  if (a.is(Type::kStringSet))
    return Value::string_set(united(a.as_string_set(), b.as_string_set()));
  if (a.is(Type::kNumberSet))
    return Value::number_set(united(a.as_number_set(), b.as_number_set()));
  return Value::binary_set(united(a.as_binary_set(), b.as_binary_set()));
}

// nullopt: nothing is left; there are no empty sets.
std::optional<Value> subtract_sets(const Value& a, const Value& b) {
  if (a.is(Type::kStringSet)) {
    auto left = without(a.as_string_set(), b.as_string_set());
    return left.empty() ? std::nullopt : std::optional(Value::string_set(std::move(left)));
  }
  if (a.is(Type::kNumberSet)) {
    auto left = without(a.as_number_set(), b.as_number_set());
    return left.empty() ? std::nullopt : std::optional(Value::number_set(std::move(left)));
  }
  auto left = without(a.as_binary_set(), b.as_binary_set());
  return left.empty() ? std::nullopt : std::optional(Value::binary_set(std::move(left)));
}

List joined(const List& a, const List& b) {
  List out;
  out.reserve(a.size() + b.size());
  out.insert(out.end(), a.begin(), a.end());
  out.insert(out.end(), b.begin(), b.end());
  return out;
}

// Computes what SET assigns. Throws for a wrong type; nullopt if an attribute that it reads is
// missing.
std::optional<Value> compute(const Operand& operand, const Item& item) {
  switch (operand.kind) {
    case Operand::Kind::kValue:
      return *operand.value;
    case Operand::Kind::kPath: {
      const Value* found = operand.path.find(item);
      return found == nullptr ? std::nullopt : std::optional(*found);
    }
    case Operand::Kind::kIfNotExists: {
      const Value* found = operand.arguments[0].path.find(item);
      return found == nullptr ? compute(operand.arguments[1], item) : std::optional(*found);
    }
    default:
      break;
  }
  const Type wanted = operand.kind == Operand::Kind::kListAppend ? Type::kList : Type::kNumber;
  const std::optional<Value> left = compute(operand.arguments[0], item);
  if (left && !left->is(wanted)) fail(kWrongType);
  const std::optional<Value> right = compute(operand.arguments[1], item);
  if (right && !right->is(wanted)) fail(kWrongType);
  if (!left || !right) return std::nullopt;
  if (wanted == Type::kList) return Value::list(joined(left->as_list(), right->as_list()));
  return add_numbers(*left, *right, operand.kind == Operand::Kind::kMinus);
}

// The value that the last element of `path` is looked up in, or null; the path is nested. `Item`
// and `Value` are both const or both not.
template <typename Value, typename Item>
Value* find_parent(const Path& path, Item& item) {
  Value* value = item.find(path.attribute());
  for (size_t i = 1; value != nullptr && i + 1 < path.elements().size(); ++i) {
    const PathElement& element = path.elements()[i];
    if (element.is_index) {
      if (!value->is(Type::kList) || element.index >= value->as_list().size()) return nullptr;
      value = &value->as_list()[element.index];
    } else {
      if (!value->is(Type::kMap)) return nullptr;
      value = value->as_map().find(element.name);
    }
  }
  return value;
}

// What becomes of one path.
struct Write {
  const Path* path;
  std::optional<Value> value;  // nullopt: it goes
};

// Applies writes to a copy of the old image. All indexes are positions in the old lists, so what
// changes positions waits until the end; elements set beyond the end of a list are appended in the
// order of their indexes.
class Applier {
 public:
  explicit Applier(Item& item) : item_(item) {}

  void apply(Write write) {
    if (!write.path->is_nested()) {
      whole_.push_back(std::move(write));
      return;
    }
    const PathElement& last = write.path->elements().back();
    Value& parent = *find_parent<Value>(*write.path, item_);
    if (!last.is_index) {
      if (write.value) {
        parent.as_map().set(last.name, std::move(*write.value));
      } else {
        parent.as_map().erase(last.name);
      }
      return;
    }
    List& list = parent.as_list();
    const bool exists = last.index < list.size();
    if (exists && write.value) {
      list[last.index] = std::move(*write.value);
    } else if (exists || write.value) {
      waiting_.push_back(std::move(write));
    }
  }

  void finish() {
    finish_lists();
    if (whole_.size() <= kFew) {
      for (Write& write : whole_) {
        if (write.value) {
          item_.set(write.path->attribute(), std::move(*write.value));
        } else {
          item_.erase(write.path->attribute());
        }
      }
    } else {
      merge();
    }
  }

 private:
  static constexpr size_t kFew = 64;

  void finish_lists() {
    // Deepest lists first, so that no path is resolved through a list that has already changed; in
    // one list, removals from the back, then what is appended.
    std::stable_sort(waiting_.begin(), waiting_.end(), [](const Write& a, const Write& b) {
      const size_t a_depth = a.path->elements().size();
      const size_t b_depth = b.path->elements().size();
      if (a_depth != b_depth) return a_depth > b_depth;
      if (a.value.has_value() != b.value.has_value()) return !a.value.has_value();
      const uint32_t a_index = a.path->elements().back().index;
      const uint32_t b_index = b.path->elements().back().index;
      return a.value ? a_index < b_index : a_index > b_index;
    });
    for (Write& write : waiting_) {
      List& list = find_parent<Value>(*write.path, item_)->as_list();
      if (write.value) {
        list.push_back(std::move(*write.value));
      } else {
        list.erase(list.begin() + static_cast<std::ptrdiff_t>(write.path->elements().back().index));
      }
    }
  }

 private:
  // Of many attributes: to put each in its place takes the square of their number. Of one that is
  // named twice the last holds.
  void merge() {
    std::stable_sort(whole_.begin(), whole_.end(), [](const Write& a, const Write& b) {
      return a.path->attribute() < b.path->attribute();
    });
    Item merged;
    merged.reserve(item_.size() + whole_.size());
    model::Attribute* old = item_.begin();
    const auto keep_until = [&](const std::string* name) {
      for (; old != item_.end() && (name == nullptr || old->name < *name); ++old)
        merged.append_sorted(std::move(old->name), std::move(old->value));
    };
    for (size_t i = 0; i < whole_.size(); ++i) {
      const std::string& name = whole_[i].path->attribute();
      if (i + 1 < whole_.size() && whole_[i + 1].path->attribute() == name) continue;
      keep_until(&name);
      if (old != item_.end() && old->name == name) ++old;
      if (whole_[i].value) merged.append_sorted(name, std::move(*whole_[i].value));
    }
    keep_until(nullptr);
    item_ = std::move(merged);
  }

  Item& item_;
  std::vector<Write> whole_;    // of whole attributes
  std::vector<Write> waiting_;  // of lists
};

// How many lists and maps are around the innermost value.
size_t nesting(const Value& value) {
  size_t deepest = 0;
  if (value.is(Type::kList)) {
    for (const Value& element : value.as_list()) deepest = std::max(deepest, nesting(element));
    return deepest + 1;
  }
  if (value.is(Type::kMap)) {
    for (const model::Attribute& attribute : value.as_map())
      deepest = std::max(deepest, nesting(attribute.value));
    return deepest + 1;
  }
  return 0;
}

// A value of the request is never too deep by itself, but it may be where it is put.
void check_nesting(const Write& write) {
  if (!write.value || !write.path->is_nested()) return;
  if (write.path->elements().size() - 1 + nesting(*write.value) > kMaxNesting) {
    fail("Nesting Levels have exceeded supported limits");
  }
}

bool fits_parent(const Path& path, const Value& parent) {
  return parent.is(path.elements().back().is_index ? Type::kList : Type::kMap);
}

bool only_removes(UpdateAction::Kind kind) {
  return kind == UpdateAction::Kind::kRemove || kind == UpdateAction::Kind::kDelete;
}

// The type that an action gives its attribute, as far as it is known without the item.
std::optional<Type> known_type(const Operand& operand) {
  switch (operand.kind) {
    case Operand::Kind::kValue:
      return operand.value->type();
    case Operand::Kind::kPlus:
    case Operand::Kind::kMinus:
    case Operand::Kind::kSize:
      return Type::kNumber;
    case Operand::Kind::kListAppend:
      return Type::kList;
    case Operand::Kind::kIfNotExists:
      return known_type(operand.arguments[1]);
    case Operand::Kind::kPath:
      return std::nullopt;
  }
  return std::nullopt;
}

// An index key may be left out, but not empty.
void check_not_empty(const Value& value) {
  const bool empty_string = value.is(Type::kString) && value.as_string().empty();
  const bool empty_binary = value.is(Type::kBinary) && value.as_binary().empty();
  if (!empty_string && !empty_binary) return;
  invalid(
      std::string(
          "One or more parameter values are not valid. The update expression attempted to update a "
          "secondary index key to a value that is not supported. The AttributeValue for a key "
          "attribute "
          "cannot contain an empty ") +
      (empty_string ? "string" : "binary") + " value.");
}

size_t element_bytes(const PathElement& element) {
  return element.is_index ? std::to_string(element.index).size() : element.name.size();
}

// What the service counts for an operand and for a target; observed, not documented.
size_t operand_cost(const Operand& operand) {
  size_t cost = 0;
  for (const Operand& argument : operand.arguments) cost += operand_cost(argument);
  switch (operand.kind) {
    case Operand::Kind::kPath:
      cost += 1;
      for (const PathElement& element : operand.path.elements())
        cost += 14 + element_bytes(element);
      return cost;
    case Operand::Kind::kValue:
      return model::size_bytes(*operand.value);
    case Operand::Kind::kPlus:
      return cost + 34;
    case Operand::Kind::kMinus:
    case Operand::Kind::kListAppend:
      return cost + 37;
    case Operand::Kind::kIfNotExists:
      return cost + 39;
    case Operand::Kind::kSize:
      return cost;
  }
  return cost;
}

size_t target_cost(const Path& path) {
  size_t cost = path.attribute().size();
  for (size_t i = 1; i < path.elements().size(); ++i) cost += 4 + element_bytes(path.elements()[i]);
  return cost;
}

}  // namespace

UpdateAction UpdateAction::set(Path path, Operand operand) {
  return {Kind::kSet, std::move(path), std::move(operand)};
}

UpdateAction UpdateAction::remove(Path path) {
  return {Kind::kRemove, std::move(path), {}};
}

UpdateAction UpdateAction::add(Path path, ValuePtr value) {
  return {Kind::kAdd, std::move(path), Operand::of_value(std::move(value))};
}

UpdateAction UpdateAction::erase(Path path, ValuePtr value) {
  return {Kind::kDelete, std::move(path), Operand::of_value(std::move(value))};
}

Update::Update(std::vector<UpdateAction> actions, Origin origin)
    : actions_(std::move(actions)), origin_(origin) {}

void Update::check_keys(const model::TableSchema& table) const {
  for (size_t i = 0; i < table.key.size(); ++i) {
    const std::string& key = table.key.at(i).name;
    const bool changed =
        std::any_of(actions_.begin(), actions_.end(),
                    [&](const UpdateAction& action) { return action.path.attribute() == key; });
    if (changed) {
      invalid("One or more parameter values were invalid: Cannot update attribute " + key +
              ". This attribute is part of the key");
    }
  }
  for_each_index_key(table, [&](const model::Index& index, const model::KeyAttribute& key) {
    for (const UpdateAction& action : actions_) {
      if (action.kind == UpdateAction::Kind::kRemove) continue;
      if (action.path.is_nested() || action.path.attribute() != key.name) continue;
      const std::optional<Type> type = known_type(action.operand);
      if (type && *type != model::value_type(key.type)) {
        invalid("One or more parameter values were invalid: Type mismatch for Index Key " +
                key.name + " Expected: " + std::string(model::key_type_name(key.type)) +
                " Actual: " + std::string(model::type_name(*type)) + " IndexName: " + index.name);
      }
      if (action.operand.kind == Operand::Kind::kValue) check_not_empty(*action.operand.value);
    }
  });
  std::vector<const Path*> paths;
  for (const UpdateAction& action : actions_) {
    paths.push_back(&action.path);
    for_each_path(action.operand, [&](const Path& path) { paths.push_back(&path); });
  }
  check_no_paths_into_keys(paths, table);
}

std::optional<Item> Update::apply(const Item* old, const Item& key) const {
  const bool removes_only = !actions_.empty() && std::all_of(actions_.begin(), actions_.end(),
                                                             [](const UpdateAction& action) {
                                                               return only_removes(action.kind);
                                                             });
  if (old == nullptr && removes_only) return std::nullopt;
  const Item& before = old == nullptr ? key : *old;
  const std::string_view wrong_type = origin_ == Origin::kLegacy ? kWrongTypeLegacy : kWrongType;

  // Problems are reported in the service's order: a parent that is no map or list, a wrong type,
  // and only then what is missing.
  std::vector<bool> has_place(actions_.size(), true);
  for (size_t i = 0; i < actions_.size(); ++i) {
    const Path& path = actions_[i].path;
    if (!path.is_nested()) continue;
    const Value* parent = find_parent<const Value>(path, before);
    if (parent != nullptr && !fits_parent(path, *parent)) fail(kWrongPath);
    has_place[i] = parent != nullptr;
  }

  std::vector<Write> writes;
  writes.reserve(actions_.size());
  bool reads_missing = false;
  for (const UpdateAction& action : actions_) {
    if (action.kind == UpdateAction::Kind::kRemove) {
      writes.push_back({&action.path, std::nullopt});
      continue;
    }
    if (action.kind == UpdateAction::Kind::kSet) {
      std::optional<Value> value = compute(action.operand, before);
      if (!value) reads_missing = true;
      if (value) writes.push_back({&action.path, std::move(value)});
      continue;
    }
    const Value& operand = *action.operand.value;
    const Value* current = action.path.find(before);
    if (current != nullptr && current->type() != operand.type()) fail(wrong_type);
    if (action.kind == UpdateAction::Kind::kDelete) {
      if (current != nullptr) writes.push_back({&action.path, subtract_sets(*current, operand)});
    } else if (current == nullptr) {
      writes.push_back({&action.path, operand});
    } else if (operand.is(Type::kNumber)) {
      writes.push_back({&action.path, add_numbers(*current, operand, false)});
    } else if (operand.is(Type::kList)) {
      writes.push_back({&action.path, Value::list(joined(current->as_list(), operand.as_list()))});
    } else {
      writes.push_back({&action.path, unite_sets(*current, operand)});
    }
  }
  for (size_t i = 0; i < actions_.size(); ++i) {
    // Nothing can be removed from an item that does not exist; that is no error.
    if (!has_place[i] && !(old == nullptr && only_removes(actions_[i].kind))) fail(kWrongPath);
  }
  if (reads_missing) fail(kMissing);
  for (const Write& write : writes) check_nesting(write);

  Item after = before;
  Applier applier(after);
  for (Write& write : writes) {
    if (write.path->is_nested() && find_parent<const Value>(*write.path, before) == nullptr)
      continue;
    applier.apply(std::move(write));
  }
  applier.finish();
  return after;
}

void Update::check_updated_index_keys(const Item& updated, const model::TableSchema& table) const {
  for_each_index_key(table, [&](const model::Index&, const model::KeyAttribute& key) {
    const Value* value = updated.find(key.name);
    if (value == nullptr) return;
    const bool touched = std::any_of(
        actions_.begin(), actions_.end(),
        [&](const UpdateAction& action) { return action.path.attribute() == key.name; });
    if (!touched) return;
    if (!value->is(model::value_type(key.type))) {
      fail("The update expression attempted to update the secondary index key to unsupported type");
    }
    check_not_empty(*value);
  });
}

Item Update::updated_attributes(const Item& image) const {
  std::vector<Path> paths;
  paths.reserve(actions_.size());
  for (const UpdateAction& action : actions_) paths.push_back(action.path);
  return project(Projection(std::move(paths)), image);
}

size_t Update::statement_size_bytes() const {
  if (origin_ == Origin::kLegacy) return 0;
  size_t cost = 3;
  for (const UpdateAction& action : actions_) {
    cost += target_cost(action.path);
    switch (action.kind) {
      case UpdateAction::Kind::kSet:
      case UpdateAction::Kind::kAdd:
        cost += 19 + operand_cost(action.operand);
        break;
      case UpdateAction::Kind::kRemove:
      case UpdateAction::Kind::kDelete:
        cost += 1;
        break;
    }
  }
  return cost;
}

}  // namespace stator::expr
