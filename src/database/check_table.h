// One table against itself: items, index entries, the queue of expiring items, counters. Internal
// to the check.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "catalog/table.h"
#include "database/check_findings.h"
#include "engine/rocksdb/offline_store.h"

namespace stator::check {

class TableCheck {
 public:
  TableCheck(engine::OfflineStore& store, const catalog::Table& table, Findings& findings)
      : store_(store), table_(table), schema_(*table.schema), findings_(findings) {}

  void run();

 private:
  struct Counted {
    int64_t count = 0;
    int64_t bytes = 0;
  };

  void check_item(std::string_view key, std::string_view record);
  void check_entry_of(const model::Index& index, const std::string& entry_key,
                      const model::Item& item, const std::string& shown);
  void check_entries(const model::Index& index);
  void check_entry(const model::Index& index, std::string_view key, std::string_view record,
                   Counted& found, bool look_item_up);
  void check_expiry_queue();
  void check_counter(model::IndexNumber index, const Counted& real, const std::string& what);
  void check_collections();
  void end_collection();
  void look_for_strangers();

  engine::OfflineStore& store_;
  const catalog::Table& table_;
  const model::TableSchema& schema_;
  Findings& findings_;

  std::string name_;                               // "table Orders"
  std::map<model::IndexNumber, Counted> implied_;  // by the items; 0: the items themselves
  int64_t expiring_ = 0;
  std::string collection_;  // the one that the items being read belong to
  int64_t collection_bytes_ = 0;
  uint64_t collections_ = 0;  // that have any bytes
};

}  // namespace stator::check
