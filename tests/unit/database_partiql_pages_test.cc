// NextToken of ExecuteStatement: pages put together are what one page would have been.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "common/task.h"
#include "database/database.h"
#include "json/reader.h"
#include "json/writer.h"

namespace stator {
namespace {

class PartiqlPages : public ::testing::Test {
 protected:
  struct Page {
    int status = 0;
    std::vector<std::string> rows;
    std::optional<std::string> next;
    bool has_last_key = false;
    std::string message;
  };

  PartiqlPages() {
    DatabaseOptions options;
    options.durability = engine::Durability::kMemory;
    database_ = Database::open(options);
    call("CreateTable", R"({"TableName": "tab", "BillingMode": "PAY_PER_REQUEST",
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
        "GlobalSecondaryIndexes": [{"IndexName": "gsi", "Projection": {"ProjectionType": "ALL"},
                                    "KeySchema": [{"AttributeName": "gk", "KeyType": "HASH"}]}],
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"},
                                 {"AttributeName": "gk", "AttributeType": "S"},
                                 {"AttributeName": "sk", "AttributeType": "N"}]})");
    for (int i = 0; i < 24; ++i) {
      const std::string pk(1, static_cast<char>('a' + i % 4));
      call("PutItem", R"({"TableName": "tab", "Item": {"pk": {"S": ")" + pk +
                          R"("}, "sk": {"N": ")" + std::to_string(i) + R"("}, "gk": {"S": "x"}}})");
    }
  }

  Answer call(std::string_view operation, std::string body) {
    return run_blocking(
        database_->execute("DynamoDB_20120810", operation, std::move(body), Caller{}));
  }

  Page page(std::string_view statement, std::optional<int> limit,
            const std::optional<std::string>& token) {
    std::string body;
    json::Object object(body);
    object.string("Statement", statement);
    if (limit) object.integer("Limit", *limit);
    if (token) object.string("NextToken", *token);
    object.close();
    const Answer answer = call("ExecuteStatement", std::move(body));
    json::Document document;
    EXPECT_TRUE(document.parse(answer.body));
    Page result;
    result.status = answer.status;
    if (answer.status != 200) {
      result.message = json::string_member(document.root(), "message").value_or("");
      return result;
    }
    const json::ArrayElement items = *json::array_member(document.root(), "Items");
    for (const json::Element item : items) result.rows.push_back(simdjson::minify(item));
    if (const auto next = json::string_member(document.root(), "NextToken")) {
      result.next = std::string(*next);
    }
    result.has_last_key = json::member(document.root(), "LastEvaluatedKey").has_value();
    return result;
  }

  // All rows, a page at a time.
  std::vector<std::string> all(std::string_view statement, std::optional<int> limit) {
    std::vector<std::string> rows;
    std::optional<std::string> token;
    for (int pages = 0; pages < 100; ++pages) {
      Page part = page(statement, limit, token);
      EXPECT_EQ(part.status, 200) << part.message;
      if (limit) {
        EXPECT_LE(part.rows.size(), static_cast<size_t>(*limit));
      }
      EXPECT_EQ(part.has_last_key, part.next.has_value()) << statement;
      for (std::string& row : part.rows) rows.push_back(std::move(row));
      token = part.next;
      if (!token) return rows;
    }
    ADD_FAILURE() << "no end of pages: " << statement;
    return rows;
  }

  std::unique_ptr<Database> database_;
};

TEST_F(PartiqlPages, TogetherAreTheWholeAnswer) {
  const struct {
    const char* statement;
    size_t rows;
  } cases[] = {
      {"SELECT * FROM tab", 24},
      {"SELECT sk FROM tab WHERE sk > 11", 12},
      {"SELECT sk FROM tab.gsi WHERE gk = 'x'", 24},
      {"SELECT sk FROM tab.gsi", 24},
      {"SELECT sk FROM tab WHERE pk = 'a'", 6},
      {"SELECT sk FROM tab WHERE pk = 'a' ORDER BY sk DESC", 6},
      {"SELECT sk FROM tab WHERE pk IN ['a', 'b', 'c']", 18},
      {"SELECT sk FROM tab WHERE pk IN ['c', 'a'] ORDER BY pk DESC, sk DESC", 12},
      {"SELECT sk FROM tab WHERE pk = 'a' AND (sk = 0 OR sk > 8)", 4},
      {"SELECT sk FROM tab WHERE pk = 'a' AND sk IN [0, 4, 5, 8]", 3},
      {"SELECT sk FROM tab WHERE pk = 'a' AND sk <> 4 OR pk = 'a' AND sk = 8", 5},
      {"SELECT sk FROM tab WHERE pk = 'nothing'", 0},
  };
  for (const auto& test : cases) {
    const std::vector<std::string> whole = all(test.statement, std::nullopt);
    EXPECT_EQ(whole.size(), test.rows) << test.statement;
    for (const int limit : {1, 2, 3, 5, 100}) {
      EXPECT_EQ(all(test.statement, limit), whole) << test.statement << " by " << limit;
    }
  }
}

TEST_F(PartiqlPages, AnInIsAnsweredByTens) {
  const Page first =
      page("SELECT sk FROM tab WHERE pk IN ['a', 'b', 'c']", std::nullopt, std::nullopt);
  EXPECT_EQ(first.rows.size(), 10U);
  EXPECT_TRUE(first.next);
}

TEST_F(PartiqlPages, ATokenBelongsToItsStatement) {
  const char* statement = "SELECT sk FROM tab WHERE pk = 'a'";
  const Page first = page(statement, 2, std::nullopt);
  ASSERT_TRUE(first.next);
  EXPECT_EQ(page(statement, 3, first.next).rows.size(), 3U);
  EXPECT_EQ(page("SELECT sk FROM tab WHERE pk = 'b'", 2, first.next).message,
            "NextToken does not match request");
  EXPECT_EQ(page(statement, 2, "garbage").message, "Invalid NextToken");
  EXPECT_EQ(page(statement, 2, "Z2FyYmFnZQ==").message, "Invalid NextToken");
  for (size_t i = 0; i < first.next->size(); ++i) {
    std::string changed = *first.next;
    changed[i] = changed[i] == 'A' ? 'B' : 'A';
    EXPECT_EQ(page(statement, 2, changed).status, 400) << i;
  }
}

}  // namespace
}  // namespace stator
