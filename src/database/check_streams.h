// The records of a stream: their order, their places, and whether they replay to the table.
// Internal to the check.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "catalog/stream.h"
#include "database/check_findings.h"
#include "engine/rocksdb/offline_store.h"
#include "store/stream_record.h"

namespace stator::check {

class StreamCheck {
 public:
  // `table` is null if it is gone.
  StreamCheck(engine::OfflineStore& store, const catalog::Stream& stream,
              const catalog::Table* table, Findings& findings)
      : store_(store), stream_(stream), table_(table), findings_(findings) {}

  void run();

 private:
  // What the last record said about an item.
  struct Last {
    bool there = false;
    std::optional<size_t> image;  // a hash of it, if the stream shows new images
  };

  void check_shard(const catalog::Shard& shard);
  void check_row(const catalog::Shard& shard, uint64_t version, std::string_view row);
  void check_record(const catalog::Shard& shard, const store::StreamRecord& record);
  void compare_with_items();

  engine::OfflineStore& store_;
  const catalog::Stream& stream_;
  const catalog::Table* const table_;
  Findings& findings_;

  std::string name_;
  std::string shard_name_;
  bool closed_ = false;               // the row that closes the shard was read
  std::map<std::string, Last> last_;  // by the item's key in the engine
};

}  // namespace stator::check
