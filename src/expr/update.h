// Changes to one item: an UpdateExpression, AttributeUpdates, or a PartiQL UPDATE.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "expr/ast.h"
#include "expr/path.h"
#include "model/schema.h"
#include "model/value.h"

namespace stator::expr {

struct UpdateAction {
  enum class Kind : uint8_t {
    kSet,     // path = operand
    kRemove,  // path
    kAdd,     // path, a number or set (legacy: or list)
    kDelete,  // path, a set
  };

  Kind kind = Kind::kSet;
  Path path;
  Operand operand;

  static UpdateAction set(Path path, Operand operand);
  static UpdateAction remove(Path path);
  static UpdateAction add(Path path, ValuePtr value);
  static UpdateAction erase(Path path, ValuePtr value);
};

class Update {
 public:
  // Whose messages are used when a value has the wrong type.
  enum class Origin : uint8_t { kExpression, kLegacy };

  Update() = default;
  explicit Update(std::vector<UpdateAction> actions, Origin origin = Origin::kExpression);

  const std::vector<UpdateAction>& actions() const { return actions_; }

  // Checks against the table that need no item. In this order: "Cannot update attribute pk. This
  // attribute is part of the key"; a value that is known and cannot be the index key that it is set
  // to ("Type mismatch for Index Key c Expected: S Actual: N IndexName: index1"); a path into an
  // attribute that is a key of the table or of an index.
  void check_keys(const model::TableSchema& table) const;

  // The new image. `old` is null if there is no item yet; then the new one begins with `key`, and
  // nullopt means that still none is made: an update that only removes makes no item. All operands
  // see the old image. Throws ApiError if an action is impossible on it.
  std::optional<model::Item> apply(const model::Item* old, const model::Item& key) const;
  // Throws "The update expression attempted to update the secondary index key to unsupported type"
  // (or that it is empty) if what apply() made of an index key cannot be one. Attributes that this
  // update does not touch are not looked at.
  void check_updated_index_keys(const model::Item& updated, const model::TableSchema& table) const;

  // For ReturnValues UPDATED_OLD and UPDATED_NEW: what `image` holds at the paths of this update.
  model::Item updated_attributes(const model::Item& image) const;

  // What the service counts for the statement of a single UpdateItem: more than the item size limit
  // is refused with "Item size to update has exceeded the maximum allowed size", before the
  // condition is looked at. Not in transactions or PartiQL; zero for legacy updates.
  size_t statement_size_bytes() const;

 private:
  std::vector<UpdateAction> actions_;
  Origin origin_ = Origin::kExpression;
};

}  // namespace stator::expr
