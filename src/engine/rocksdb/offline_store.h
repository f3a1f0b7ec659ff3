// A data directory without a server: to look at what it holds, never to change it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/rocksdb/store.h"

namespace stator::engine {

class OfflineStore {
 public:
  // Throws EngineError with one clear sentence if this is no data directory, if a newer program
  // wrote it, or if somebody uses it.
  explicit OfflineStore(const std::filesystem::path& directory);

  // Why a server would not open it; empty if it would.
  const std::string& failure() const { return failure_; }
  // False if nothing can be read: then only the files can be looked at. A log that is damaged does
  // not prevent reading what comes before the damage.
  bool is_readable() const { return store_ != nullptr; }

  // Reads every data file and every log to its end, those of frozen copies too. One sentence about
  // each that is damaged.
  struct Files {
    size_t count = 0;
    std::vector<std::string> damaged;
    // The names of data files and logs that the store does not count among its own: a process that
    // was killed had not finished them, or not removed them yet.
    std::vector<std::string> left_over;
    // The last record of the log was never written whole: the machine or the process ended in it.
    bool ends_in_a_torn_record = false;
  };
  Files read_files();
  // The frozen copies there are.
  std::vector<std::string> copies() const;

  // If it is readable. They throw EngineError where the store is damaged.
  std::optional<std::string> get(std::string_view key);
  using Visit = std::function<void(std::string_view key, std::string_view value)>;
  void for_each(std::string_view prefix, const Visit& visit);
  // The first key that is not less than `from`.
  std::optional<std::string> first_key(std::string_view from);
  // No commit has a version above this.
  uint64_t version_ceiling() const { return store_->opened_version(); }

 private:
  const std::filesystem::path directory_;
  std::string failure_;
  std::unique_ptr<Store> store_;
};

}  // namespace stator::engine
