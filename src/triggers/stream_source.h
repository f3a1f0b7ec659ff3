// A stream as a consumer sees it: through the operations of DynamoDB Streams, as one on another
// machine would.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "database/database.h"
#include "json/reader.h"

namespace stator::triggers {

// An answer that is none, by the type of its error.
class StreamError : public std::runtime_error {
 public:
  StreamError(std::string type, const std::string& message)
      : std::runtime_error(message), type_(std::move(type)) {}
  const std::string& type() const { return type_; }
  bool is_not_found() const { return type_ == "ResourceNotFoundException"; }

 private:
  std::string type_;
};

struct ShardInfo {
  std::string id;
  std::string parent;  // empty: none
  std::string first_sequence_number;
  std::optional<std::string> last_sequence_number;  // of a closed shard
};

struct StreamInfo {
  std::vector<std::string> partition_key;
  std::vector<ShardInfo> shards;  // parents before children
  bool enabled = false;
};

// All shards. Throws StreamError.
Task<StreamInfo> describe_stream(Database& database, std::string arn);

// Reads one shard. Blocks; for one thread at a time.
class ShardReader {
 public:
  // Goes on after a sequence number, or begins with the oldest record that is left.
  ShardReader(Database& database, std::string stream_arn, std::string shard_id,
              std::optional<std::string> after);

  // The records that come next, as a list of GetRecords; empty if there are none now. Throws
  // StreamError.
  json::Document read(size_t limit);
  // The shard is closed and everything in it was read.
  bool ended() const { return ended_; }

 private:
  std::string find_iterator();
  json::Document call(std::string_view operation, std::string body);

  Database& database_;
  const std::string stream_arn_;
  const std::string shard_id_;
  std::optional<std::string> after_;
  std::optional<std::string> iterator_;
  bool ended_ = false;
};

// Of a document that read() gave.
json::ArrayElement records_of(const json::Document& page);

}  // namespace stator::triggers
