#include "partiql/key_plan.h"

#include <algorithm>
#include <utility>

#include "model/error.h"

namespace stator::partiql {

namespace {

using expr::Condition;
using expr::KeyClause;
using expr::KeyOperator;
using expr::Operand;
using Kind = Condition::Kind;

bool is_attribute(const Operand& operand, std::string_view name) {
  return operand.kind == Operand::Kind::kPath && !operand.path.is_nested() &&
         operand.path.attribute() == name;
}

bool is_value(const Operand& operand) {
  return operand.kind == Operand::Kind::kValue;
}

std::optional<KeyOperator> key_operator(Kind kind) {
  switch (kind) {
    case Kind::kEqual:
      return KeyOperator::kEqual;
    case Kind::kLess:
      return KeyOperator::kLess;
    case Kind::kLessEqual:
      return KeyOperator::kLessEqual;
    case Kind::kGreater:
      return KeyOperator::kGreater;
    case Kind::kGreaterEqual:
      return KeyOperator::kGreaterEqual;
    case Kind::kBetween:
      return KeyOperator::kBetween;
    case Kind::kBeginsWith:
      return KeyOperator::kBeginsWith;
    default:
      return std::nullopt;
  }
}

KeyOperator mirrored(KeyOperator op) {
  switch (op) {
    case KeyOperator::kLess:
      return KeyOperator::kGreater;
    case KeyOperator::kLessEqual:
      return KeyOperator::kGreaterEqual;
    case KeyOperator::kGreater:
      return KeyOperator::kLess;
    case KeyOperator::kGreaterEqual:
      return KeyOperator::kLessEqual;
    default:
      return op;
  }
}

// The condition as a clause on the attribute `name`, if it compares it with values.
std::optional<KeyClause> clause_on(const Condition& condition, const std::string& name) {
  auto op = key_operator(condition.kind);
  if (!op) return std::nullopt;
  const std::vector<Operand>& operands = condition.operands;
  const bool all_values = std::all_of(operands.begin() + 1, operands.end(),
                                      [](const Operand& o) { return is_value(o); });
  if (is_attribute(operands[0], name) && all_values) {
    KeyClause clause{name, *op, {}};
    for (size_t i = 1; i < operands.size(); ++i) clause.values.push_back(operands[i].value);
    return clause;
  }
  const bool two_sided = *op != KeyOperator::kBetween && *op != KeyOperator::kBeginsWith;
  if (two_sided && is_value(operands[0]) && is_attribute(operands[1], name)) {
    return KeyClause{name, mirrored(*op), {operands[0].value}};
  }
  return std::nullopt;
}

// The values of "name IN [...]", if the condition is that.
std::vector<expr::ValuePtr> values_in(const Condition& condition, const std::string& name) {
  std::vector<expr::ValuePtr> values;
  if (condition.kind != Kind::kIn || !is_attribute(condition.operands[0], name)) return values;
  for (size_t i = 1; i < condition.operands.size(); ++i) {
    if (!is_value(condition.operands[i])) return {};
    values.push_back(condition.operands[i].value);
  }
  return values;
}

bool mentions(const Condition& condition, const std::string& name) {
  bool found = false;
  expr::for_each_path(condition,
                      [&](const expr::Path& path) { found = found || path.attribute() == name; });
  return found;
}

class Decomposition {
 public:
  explicit Decomposition(const model::KeySchema& key)
      : partition_(key.partition[0]), sort_(key.sort.empty() ? nullptr : &key.sort[0]) {}

  // Whether every branch names a partition key.
  bool pins(const Condition& condition) const {
    switch (condition.kind) {
      case Kind::kAnd:
        return std::any_of(condition.children.begin(), condition.children.end(),
                           [this](const Condition& child) { return pins(child); });
      case Kind::kOr:
        return std::all_of(condition.children.begin(), condition.children.end(),
                           [this](const Condition& child) { return pins(child); });
      default:
        return is_partition_equality(condition) || !values_in(condition, partition_.name).empty();
    }
  }

  // How many branches there are; stops counting above the limit, so nothing grows with the
  // statement.
  size_t count(const Condition& condition) const {
    constexpr size_t kEnough = kMaxBranches + 1;
    switch (condition.kind) {
      case Kind::kAnd: {
        size_t product = 1;
        for (const Condition& child : condition.children) {
          product = std::min(kEnough, product * count(child));
        }
        return product;
      }
      case Kind::kOr: {
        if (!mentions_key(condition)) return 1;
        size_t sum = 0;
        for (const Condition& child : condition.children)
          sum = std::min(kEnough, sum + count(child));
        return sum;
      }
      default:
        return std::max<size_t>({1, values_in(condition, partition_.name).size(),
                                 sort_ != nullptr ? values_in(condition, sort_->name).size() : 0});
    }
  }

  std::vector<Branch> branches(const Condition& condition) {
    switch (condition.kind) {
      case Kind::kAnd: {
        std::vector<Branch> product(1);
        for (const Condition& child : condition.children) {
          product = multiply(product, branches(child));
        }
        return product;
      }
      case Kind::kOr:
        if (mentions_key(condition)) {
          std::vector<Branch> sum;
          for (const Condition& child : condition.children) {
            for (Branch& branch : branches(child)) sum.push_back(std::move(branch));
          }
          return sum;
        }
        break;
      default:
        break;
    }
    return leaf(condition);
  }

  bool from_in() const { return from_in_; }

 private:
  bool is_partition_equality(const Condition& condition) const {
    const auto clause = clause_on(condition, partition_.name);
    return clause && clause->op == KeyOperator::kEqual;
  }

  bool mentions_key(const Condition& condition) const {
    return mentions(condition, partition_.name) ||
           (sort_ != nullptr && mentions(condition, sort_->name));
  }

  std::vector<Branch> leaf(const Condition& condition) {
    if (is_partition_equality(condition)) {
      Branch branch;
      branch.partition = *clause_on(condition, partition_.name);
      return {std::move(branch)};
    }
    std::vector<Branch> result;
    for (expr::ValuePtr& value : values_in(condition, partition_.name)) {
      Branch branch;
      branch.partition = {partition_.name, KeyOperator::kEqual, {std::move(value)}};
      result.push_back(std::move(branch));
    }
    if (sort_ != nullptr && result.empty()) {
      if (auto clause = clause_on(condition, sort_->name)) {
        Branch branch;
        branch.sort.push_back(std::move(*clause));
        return {std::move(branch)};
      }
      for (expr::ValuePtr& value : values_in(condition, sort_->name)) {
        Branch branch;
        branch.sort.push_back({sort_->name, KeyOperator::kEqual, {std::move(value)}});
        result.push_back(std::move(branch));
      }
    }
    if (!result.empty()) {
      from_in_ = from_in_ || result.size() > 1;
      return result;
    }
    Branch branch;
    branch.filters.push_back(&condition);
    branch.negates_sort = sort_ != nullptr &&
                          (condition.kind == Kind::kNot || condition.kind == Kind::kNotEqual) &&
                          mentions(condition, sort_->name);
    return {std::move(branch)};
  }

  static std::vector<Branch> multiply(const std::vector<Branch>& left,
                                      const std::vector<Branch>& right) {
    std::vector<Branch> product;
    product.reserve(left.size() * right.size());
    for (const Branch& a : left) {
      for (const Branch& b : right) {
        Branch both = a;
        if (both.partition.values.empty()) {
          both.partition = b.partition;
        } else if (!b.partition.values.empty() &&
                   *both.partition.values[0] != *b.partition.values[0]) {
          both.contradictory = true;
        }
        both.sort.insert(both.sort.end(), b.sort.begin(), b.sort.end());
        both.filters.insert(both.filters.end(), b.filters.begin(), b.filters.end());
        both.negates_sort = both.negates_sort || b.negates_sort;
        both.contradictory = both.contradictory || b.contradictory;
        product.push_back(std::move(both));
      }
    }
    return product;
  }

  const model::KeyAttribute& partition_;
  const model::KeyAttribute* sort_;
  bool from_in_ = false;
};

void check_type(const KeyClause& clause, const model::KeyAttribute& attribute) {
  for (const expr::ValuePtr& value : clause.values) {
    if (value->type() == model::value_type(attribute.type)) continue;
    invalid("Key attribute's data type should match its data type in table's schema: Key " +
            attribute.name);
  }
}

// Conditions that all must hold: those of an AND, else the condition itself.
std::vector<const Condition*> conjuncts(const Condition& condition) {
  if (condition.kind != Kind::kAnd) return {&condition};
  std::vector<const Condition*> all;
  for (const Condition& child : condition.children) {
    for (const Condition* conjunct : conjuncts(child)) all.push_back(conjunct);
  }
  return all;
}

// The value that a condition gives an attribute, or null.
const model::Value* equal_value(const Condition& condition, const std::string& name,
                                bool allow_in) {
  if (const auto clause = clause_on(condition, name); clause && clause->op == KeyOperator::kEqual) {
    return clause->values[0].get();
  }
  if (!allow_in) return nullptr;
  const auto values = values_in(condition, name);
  return values.size() == 1 ? values[0].get() : nullptr;
}

}  // namespace

ReadKeys plan_read(const std::optional<Condition>& where, const model::KeySchema& key) {
  ReadKeys keys;
  if (!where) return keys;
  Decomposition decomposition(key);
  if (!decomposition.pins(*where)) return keys;
  if (decomposition.count(*where) > kMaxBranches) {
    invalid("Too many decomposed read operations for a given query.");
  }
  keys.scan = false;
  keys.branches = decomposition.branches(*where);
  keys.from_in = decomposition.from_in();
  for (const Branch& branch : keys.branches) {
    check_type(branch.partition, key.partition[0]);
    for (const KeyClause& clause : branch.sort) check_type(clause, key.sort[0]);
  }
  std::stable_sort(
      keys.branches.begin(), keys.branches.end(), [](const Branch& a, const Branch& b) {
        return model::compare_scalars(*a.partition.values[0], *b.partition.values[0]) < 0;
      });
  return keys;
}

ReadOrder plan_order(const std::vector<OrderKey>& order, const ReadKeys& keys,
                     const model::KeySchema& key) {
  ReadOrder result;
  if (order.empty()) return result;
  bool by_partition = false;
  bool by_sort = false;
  for (const OrderKey& term : order) {
    if (!key.position(term.attribute)) {
      invalid("Attribute " + term.attribute +
              " in ORDER BY clause must be part of the primary key");
    }
    if (term.attribute == key.partition[0].name) {
      by_partition = true;
      result.partitions_descending = term.descending;
    } else {
      by_sort = true;
      result.sort_descending = term.descending;
    }
  }
  if (keys.scan) {
    invalid(
        "Must have at least one non-optional hash key condition in WHERE clause when using ORDER "
        "BY clause.");
  }
  const model::Value& first = *keys.branches.front().partition.values[0];
  const bool several =
      std::any_of(keys.branches.begin(), keys.branches.end(),
                  [&](const Branch& branch) { return *branch.partition.values[0] != first; });
  if (several && !by_partition) {
    invalid(
        "Must have hash key in ORDER BY clause when more than one hash key condition specified in "
        "WHERE clause.");
  }
  // Observed: an order that does not name the sort key reads it backwards.
  if (!by_sort) result.sort_descending = true;
  return result;
}

ItemKey find_item_key(const std::optional<Condition>& where, const model::KeySchema& key,
                      bool allow_in) {
  ItemKey result;
  if (!where) return result;
  std::vector<Condition> rest;
  for (const Condition* conjunct : conjuncts(*where)) {
    bool is_key = false;
    for (size_t i = 0; i < key.size() && !is_key; ++i) {
      const std::string& name = key.at(i).name;
      const model::Value* value = equal_value(*conjunct, name, allow_in);
      if (value == nullptr) continue;
      const model::Value* known = result.key.find(name);
      if (known != nullptr && *known != *value) {
        if (result.second_value_of.empty()) result.second_value_of = name;
        break;
      }
      if (known == nullptr) result.key.set(name, *value);
      is_key = true;
    }
    if (!is_key) rest.push_back(*conjunct);
  }
  result.complete = result.key.size() == key.size();
  if (rest.size() == 1) {
    result.rest = std::move(rest.front());
  } else if (!rest.empty()) {
    result.rest = Condition::all_of(std::move(rest));
  }
  return result;
}

ItemKey plan_write(const std::optional<Condition>& where, const model::KeySchema& key) {
  ItemKey item = find_item_key(where, key, false);
  if (!item.complete) {
    invalid("Where clause does not contain a mandatory equality on all key attributes");
  }
  if (!item.second_value_of.empty()) {
    invalid("Multiple conditions on same key " + item.second_value_of +
            ". Only single item Update/Insert/Delete are supported");
  }
  return item;
}

}  // namespace stator::partiql
