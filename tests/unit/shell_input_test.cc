#include "shell/input.h"

#include <gtest/gtest.h>

namespace stator::shell {
namespace {

using Statements = std::vector<std::string>;

TEST(ShellInput, AStatementEndsWithASemicolonNotWithItsLine) {
  Input input;
  EXPECT_EQ(input.take("SELECT *"), Statements());
  EXPECT_TRUE(input.pending());
  EXPECT_EQ(input.take("FROM T; DELETE FROM T"), Statements({"SELECT *\nFROM T"}));
  EXPECT_EQ(input.rest(), "DELETE FROM T");
  EXPECT_FALSE(input.pending());
}

TEST(ShellInput, ACommandEndsWithItsLine) {
  Input input;
  EXPECT_EQ(input.take("tables"), Statements({"tables"}));
  EXPECT_EQ(input.take("DESCRIBE Orders;"), Statements({"DESCRIBE Orders"}));
  EXPECT_EQ(input.take("format json; tables"), Statements({"format json", "tables"}));
}

TEST(ShellInput, QuotesAndCommentsHideSemicolons) {
  Input input;
  EXPECT_EQ(input.take("INSERT INTO T VALUE {'a': 'x;y''z'}; -- done; really"),
            Statements({"INSERT INTO T VALUE {'a': 'x;y''z'}"}));
  EXPECT_FALSE(input.pending());
  EXPECT_EQ(input.take("-- nothing;"), Statements());
  EXPECT_EQ(input.take("SELECT \"a;b\" FROM T;"), Statements({"SELECT \"a;b\" FROM T"}));
  EXPECT_EQ(input.take("SELECT '--' FROM T;"), Statements({"SELECT '--' FROM T"}));
}

TEST(ShellInput, WordsKeepQuotedNamesTogether) {
  EXPECT_EQ(words_of("create table \"my table\"(PK S,SK N)"),
            Statements({"create", "table", "my table", "(", "PK", "S", ",", "SK", "N", ")"}));
}

}  // namespace
}  // namespace stator::shell
