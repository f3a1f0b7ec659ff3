// Stator as a library: open a database, execute DynamoDB operations by name on JSON bodies. The
// HTTP server is one user of it; a test, a C++ program or a language binding is another.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "capacity/throttle.h"
#include "common/clock.h"
#include "common/metrics.h"
#include "common/task.h"
#include "engine/rocksdb/rocksdb_engine.h"
#include "objects/object_store.h"

namespace stator {

struct DatabaseOptions {
  std::filesystem::path directory;  // unused with Durability::kMemory
  engine::Durability durability = engine::Durability::kSync;
  std::string region = "us-east-1";
  std::string account = "123456789012";  // twelve digits
  // How long CREATING, UPDATING and DELETING last. 0: the state is in the operation's answer, and
  // over by the next request, so that a waiter which polls every twenty seconds never has to.
  int64_t table_delay_ms = 0;
  // How many shards a stream has.
  int64_t stream_shards = 4;
  // How long after its time an expired item is deleted.
  int64_t ttl_delay_s = 0;
  // Least time between two changes of a table's time to live.
  int64_t ttl_change_interval_s = 0;
  // Which limits on throughput are kept.
  capacity::ThrottleMode throttle = capacity::ThrottleMode::kProvisioned;
  // Where exports go and imports come from: buckets of S3, or folders in a root (the default: "s3"
  // in the directory; with Durability::kMemory a temporary one).
  objects::Options objects;
  size_t block_cache_bytes = 256 * 1024 * 1024;
  Clock* clock = nullptr;                        // the system's if null; outlives the database
  size_t write_buffer_bytes = 64 * 1024 * 1024;  // of memory before it is written to a data file
  // Tests only: the store's files go through this one.
  std::shared_ptr<rocksdb::FileSystem> file_system = nullptr;
  // Tests only: runs on the adversary (engine/adversary.h) with this seed. 0: no.
  uint64_t adversary_seed = 0;
};

// Who asks, as far as the wire layer found out.
struct Caller {
  std::string access_key;  // from the credential scope; empty if anonymous
  std::string request_id;
};

struct Answer {
  int status = 200;
  std::string body;  // JSON
  // The name of the error without its namespace; empty for a success.
  std::string error;
  // What happened, of an InternalServerError: for the log, not for the client.
  std::string detail;
  // When the request was read and its types were right (metrics::steady_us); 0 if they were not.
  uint64_t parsed_us = 0;
  // How long it then waited: see common/waits.h.
  uint64_t keys_us = 0;
  uint64_t disk_us = 0;
  uint64_t commit_us = 0;
};

// Something small and durable beside the tables. The key is the user's own, of at most 1000 bytes.
struct Note {
  std::string key;
  std::optional<std::string> value;  // none: there is no such note
  bool operator==(const Note&) const = default;
};

// A hidden stream that feeds, or fed, a Kinesis data stream.
struct KinesisFeed {
  std::string stream_arn;  // of the hidden stream, for the operations of DynamoDB Streams
  std::string kinesis_arn;
  std::string precision;  // "MILLISECOND" or "MICROSECOND"
  bool operator==(const KinesisFeed&) const = default;
};

// Thread-safe. Outlives the requests under way.
class Database {
 public:
  // Throws std::runtime_error with one clear sentence if the directory cannot be used.
  static std::unique_ptr<Database> open(DatabaseOptions options);
  virtual ~Database() = default;

  // True if `operation` ("PutItem") is one that this database answers.
  virtual bool knows(std::string_view service, std::string_view operation) const = 0;
  // Runs an operation of `service` ("DynamoDB_20120810" or "DynamoDBStreams_20120810"). Never
  // throws: every failure is an Answer with the error's status and body. `body` is taken whole so
  // that it can be parsed in place.
  virtual Task<Answer> execute(std::string_view service, std::string_view operation,
                               std::string body, Caller caller) = 0;
  // What contributor insights have counted, as JSON: see ops/contributor_insights.h.
  virtual std::string insights() const { return "{}"; }

  // Keeps the notes that have a value and forgets those that have none, all of them or, with an
  // exception, none. Durable when it ends.
  virtual Task<void> keep(std::vector<Note>) { co_return; }
  // The notes whose keys begin with `prefix`, in the order of their keys.
  virtual Task<std::vector<Note>> kept(std::string) { co_return std::vector<Note>{}; }
  // Rises with every change of anything, so that a poller can see for nothing whether there may be
  // something new.
  virtual uint64_t version() const { return 0; }
  // As a sequence number of any stream: everything written later comes after it, everything that
  // was acknowledged does not.
  virtual std::string latest_sequence_number() const { return {}; }
  // Those of tables that are there, also while the records of one that was disabled can be read.
  virtual std::vector<KinesisFeed> kinesis_feeds() const { return {}; }
  // Every operation, as X-Amz-Target names it: "DynamoDB_20120810.PutItem".
  virtual std::vector<std::string> targets() const { return {}; }
  // Why writes are refused; empty while all is well.
  virtual std::string failure() const { return {}; }
  // What tables, engine and background work do, for Prometheus.
  virtual Task<void> write_metrics(metrics::Text& /*text*/) { co_return; }
};

}  // namespace stator
