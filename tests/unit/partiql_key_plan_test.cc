#include "partiql/key_plan.h"

#include <gtest/gtest.h>

#include "partiql_testing.h"

namespace stator::partiql {
namespace {

using testing::refusal;
using testing::string;
using testing::string_key;
using testing::where;

// Partition values and number of sort clauses of each branch: "a0 b1", or "scan".
std::string branches(std::string_view condition, bool with_sort = true) {
  const auto tree = where(condition);
  const ReadKeys keys = plan_read(tree, string_key(with_sort));
  if (keys.scan) return "scan";
  std::string text;
  for (const Branch& branch : keys.branches) {
    if (!text.empty()) text += " ";
    text += branch.partition.values[0]->as_string() + std::to_string(branch.sort.size());
    if (branch.contradictory) text += "!";
    if (branch.negates_sort) text += "~";
  }
  return text;
}

TEST(PartiqlKeyPlan, APartitionKeyInEveryBranchMakesReads) {
  EXPECT_EQ(branches("pk = 'a'"), "a0");
  EXPECT_EQ(branches("'a' = pk AND 'x' < sk"), "a1");
  EXPECT_EQ(branches("pk = 'a' AND sk > 'x' AND begins_with(sk, 'y')"), "a2");
  EXPECT_EQ(branches("pk IN ['b', 'a']"), "a0 b0");
  EXPECT_EQ(branches("pk = 'a' AND (sk = '1' OR sk = '2')"), "a1 a1");
  EXPECT_EQ(branches("pk IN ['a', 'b'] AND sk IN ['1', '2']"), "a1 a1 b1 b1");
}

TEST(PartiqlKeyPlan, OtherwiseEverythingIsRead) {
  EXPECT_EQ(branches("a = 1"), "scan");
  EXPECT_EQ(branches("pk > 'a'"), "scan");
  EXPECT_EQ(branches("pk = 'a' OR sk = '1'"), "scan");
  EXPECT_EQ(branches("NOT pk = 'a'"), "scan");
  EXPECT_EQ(branches("pk = other"), "scan");
  EXPECT_EQ(branches("pk.x = 'a'"), "scan");
}

TEST(PartiqlKeyPlan, ConditionsWithoutKeysAreNotDistributed) {
  EXPECT_EQ(branches("pk = 'a' AND (x = 1 OR y = 2) AND (z = 3 OR z = 4)"), "a0");
  EXPECT_EQ(branches("pk = 'a' AND (sk = '1' OR y = 2)"), "a1 a0");
}

TEST(PartiqlKeyPlan, TwoPartitionKeysContradict) {
  EXPECT_EQ(branches("pk = 'a' AND pk = 'b'"), "a0!");
  EXPECT_EQ(branches("pk = 'a' AND pk = 'a'"), "a0");
}

TEST(PartiqlKeyPlan, NegatedSortKeysAreMarked) {
  EXPECT_EQ(branches("pk = 'a' AND sk <> '1'"), "a0~");
  EXPECT_EQ(branches("pk = 'a' AND NOT begins_with(sk, 'x')"), "a0~");
  EXPECT_EQ(branches("pk = 'a' AND NOT x = 1"), "a0");
}

std::string in_list(size_t count) {
  std::string list;
  for (size_t i = 0; i < count; ++i) list += (i == 0 ? "'v" : ",'v") + std::to_string(i) + "'";
  return "[" + list + "]";
}

TEST(PartiqlKeyPlan, FiftyBranchesAreTheMost) {
  const std::string too_many = "Too many decomposed read operations for a given query.";
  const auto message = [](const std::string& condition) {
    return refusal([&] { branches(condition); });
  };
  EXPECT_EQ(message("pk IN " + in_list(50)), "accepted");
  EXPECT_EQ(message("pk IN " + in_list(51)), too_many);
  EXPECT_EQ(message("pk IN " + in_list(26) + " AND sk IN ['1', '2']"), too_many);
  EXPECT_EQ(message("pk IN " + in_list(50) + " AND x IN " + in_list(60)), "accepted");
  EXPECT_EQ(message("pk IN " + in_list(51) + " OR x = 1"), "accepted");
}

TEST(PartiqlKeyPlan, ManyAlternativesDoNotMultiplyOut) {
  std::string condition = "pk = 'a'";
  for (int i = 0; i < 200; ++i) condition += " AND (sk = '1' OR sk = '2')";
  EXPECT_EQ(refusal([&] { branches(condition); }),
            "Too many decomposed read operations for a given query.");
}

TEST(PartiqlKeyPlan, KeyConditionsHaveTheKeysType) {
  const auto message = [](std::string_view condition) {
    return refusal([&] { branches(condition); });
  };
  EXPECT_EQ(message("pk = 1 OR pk = 'a'"),
            "Key attribute's data type should match its data type in table's schema: Key pk");
  EXPECT_EQ(message("pk = 'a' AND sk IN ['1', 2]"),
            "Key attribute's data type should match its data type in table's schema: Key sk");
  EXPECT_EQ(message("pk > 1"), "accepted");
}

TEST(PartiqlKeyPlan, OrderFollowsTheKeys) {
  const auto order = [](std::string_view condition, std::vector<OrderKey> terms) {
    const auto tree = where(condition);
    const model::KeySchema key = string_key();
    return plan_order(terms, plan_read(tree, key), key);
  };
  EXPECT_FALSE(order("pk = 'a'", {}).sort_descending);
  EXPECT_FALSE(order("pk = 'a'", {{"sk", false}}).sort_descending);
  EXPECT_TRUE(order("pk = 'a'", {{"sk", true}}).sort_descending);
  EXPECT_TRUE(order("pk = 'a'", {{"pk", false}}).sort_descending);
  EXPECT_TRUE(order("pk IN ['a','b']", {{"pk", true}}).partitions_descending);
  EXPECT_EQ(refusal([&] {
              order("pk > 'a'", {{"sk", false}});
            }),
            "Must have at least one non-optional hash key condition in WHERE clause when using "
            "ORDER BY clause.");
  EXPECT_EQ(refusal([&] {
              order("pk = 'a'", {{"x", false}});
            }),
            "Attribute x in ORDER BY clause must be part of the primary key");
  EXPECT_EQ(refusal([&] {
              order("pk IN ['a','b']", {{"sk", true}});
            }),
            "Must have hash key in ORDER BY clause when more than one hash key condition specified "
            "in WHERE clause.");
}

TEST(PartiqlKeyPlan, AWriteNamesOneItem) {
  const auto plan = [](std::string_view condition) {
    return plan_write(where(condition), string_key());
  };
  const ItemKey item = plan("(pk = 'a' AND sk = 'b') AND pk = 'a' AND x = 1");
  EXPECT_EQ(*item.key.find("pk"), string("a"));
  EXPECT_EQ(*item.key.find("sk"), string("b"));
  ASSERT_TRUE(item.rest);
  EXPECT_EQ(item.rest->kind, expr::Condition::Kind::kEqual);
  EXPECT_FALSE(plan("pk = 'a' AND sk = 'b'").rest);
  const std::string incomplete =
      "Where clause does not contain a mandatory equality on all key attributes";
  EXPECT_EQ(refusal([&] { plan("pk = 'a'"); }), incomplete);
  EXPECT_EQ(refusal([&] { plan("pk IN ['a'] AND sk = 'b'"); }), incomplete);
  EXPECT_EQ(refusal([&] { plan("pk = 'a' AND sk = 'b' OR x = 1"); }), incomplete);
  EXPECT_EQ(refusal([&] { plan_write(std::nullopt, string_key()); }), incomplete);
  EXPECT_EQ(refusal([&] { plan("pk = 'a' AND sk = 'b' AND pk = 'c'"); }),
            "Multiple conditions on same key pk. Only single item Update/Insert/Delete are "
            "supported");
}

}  // namespace
}  // namespace stator::partiql
