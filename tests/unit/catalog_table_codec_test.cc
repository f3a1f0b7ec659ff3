#include "catalog/table_codec.h"

#include <gtest/gtest.h>

#include "catalog_testing.h"
#include "common/bytes.h"

namespace stator::catalog {
namespace {

Table full_table() {
  Table table = make_table("Orders");
  auto schema = std::make_shared<model::TableSchema>(*table.schema);
  schema->number = 7;
  schema->version = 3;
  schema->indexes[0].number = 1;
  schema->indexes[1].number = 9;
  table.schema = schema;
  table.last_index_number = 9;
  table.id = "9b2b8f6e-6a8f-4f0e-9d5b-0a1b2c3d4e5f";
  table.arn = "arn:aws:dynamodb:us-east-1:000000000000:table/Orders";
  table.created_ms = 1'700'000'000'123;
  table.billing = BillingMode::kPayPerRequest;
  table.on_demand_since_ms = 5;
  table.billing_named = true;
  table.capacity.before = {.read_units = 1, .write_units = 2, .decreases = 3};
  table.capacity.changing = true;
  table.capacity.last_increase_ms = 11;
  table.capacity.max_write_request_units = 12;
  table.index_capacity[1].warm_read_units = 13;
  table.deletion_protection = true;
  table.table_class = "STANDARD_INFREQUENT_ACCESS";
  table.encryption = EncryptionSettings{.enabled = true, .kms_key_arn = "arn:aws:kms:x"};
  table.stream =
      StreamSettings{.enabled = true, .view_type = "KEYS_ONLY", .label = "2026-11-15T09:12:00.123"};
  table.tags = {{"team", "ops"}, {"empty", ""}};
  table.resource_policy = R"({"quoted": "\u00e9 \" \\"})";
  table.resource_policy_revision_ms = 14;
  table.active_at_ms = 15;
  table.updating_until_ms = 16;
  table.deleted_at_ms = 17;
  return table;
}

TEST(TableCodec, KeepsEverything) {
  const Table table = full_table();
  const std::string record = encode_table(table);
  const Table read = decode_table(record);
  EXPECT_EQ(encode_table(read), record);

  EXPECT_EQ(read.schema->number, 7U);
  EXPECT_EQ(read.schema->version, 3U);
  EXPECT_EQ(read.schema->indexes[1].number, 9U);
  EXPECT_EQ(read.schema->indexes[1].key.partition[1].name, "h");
  EXPECT_EQ(read.schema->key.sort[0].type, model::KeyType::kNumber);
  EXPECT_EQ(read.capacity.before, table.capacity.before);
  EXPECT_EQ(read.index_capacity[1].warm_read_units, 13);
  EXPECT_EQ(read.tags, table.tags);
  EXPECT_EQ(read.resource_policy, table.resource_policy);
  EXPECT_EQ(read.stream->label, table.stream->label);
  EXPECT_EQ(read.deleted_at_ms, 17);
}

TEST(TableCodec, ReadsBackWhatAnIndexProjects) {
  const Table read = decode_table(encode_table(full_table()));
  EXPECT_EQ(read.schema->indexes[0].projected, (std::vector<std::string>{"l", "pk", "sk"}));
  EXPECT_EQ(read.schema->indexes[1].projected,
            (std::vector<std::string>{"a", "g", "h", "pk", "sk", "z"}));
  EXPECT_EQ(read.schema->indexes[1].included, (std::vector<std::string>{"z", "a"}));
}

TEST(TableCodec, RefusesDamagedRecords) {
  const std::string record = encode_table(full_table());
  EXPECT_THROW(decode_table(""), CorruptRecord);
  EXPECT_THROW(decode_table(record.substr(0, record.size() / 2)), CorruptRecord);
  EXPECT_THROW(decode_table("\x01{}"), CorruptRecord);
  std::string newer = record;
  newer[0] = 2;
  EXPECT_THROW(decode_table(newer), CorruptRecord);
}

TEST(TableState, FollowsFromTheClock) {
  Table table = make_table("t");
  table.active_at_ms = 100;
  table.updating_until_ms = 200;
  EXPECT_EQ(table.state(99), TableState::kCreating);
  EXPECT_EQ(table.state(100), TableState::kUpdating);
  EXPECT_EQ(table.state(200), TableState::kActive);
  table.deleted_at_ms = 300;
  EXPECT_EQ(table.state(299), TableState::kDeleting);
  EXPECT_EQ(table.state(300), TableState::kGone);
}

}  // namespace
}  // namespace stator::catalog
