// Files that can fail and a machine that can stop, for tests of the store.
//
// It remembers what of each file was flushed, and which names of the directory were. When the
// machine stops, nothing is written or flushed any more; then lose_unsynced() leaves of the files
// what a disk may leave: everything that was flushed, and of the rest any part of it, with sectors
// missing in between, names that are not there, files that are back. Names reach the disk in the
// order in which they were made, as journals keep it.
#pragma once

#include <rocksdb/file_system.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace stator::engine {

// Thread-safe. For one directory without folders in it, as the store's is.
class FragileFiles final : public rocksdb::FileSystemWrapper {
 public:
  enum class Doing { kAppend, kSync, kRead, kCreate };

  FragileFiles();
  static const char* kClassName() { return "FragileFiles"; }
  const char* Name() const override { return kClassName(); }

  // From now on `doing` something to files whose names end in `suffix` fails: with "no space left"
  // or an I/O error. The first `after` times it still works.
  void fail(Doing doing, std::string suffix, bool no_space, int64_t after = 0);
  void mend();
  // How often something failed since the last mend().
  int64_t failures() const { return failures_.load(); }

  void stop_machine();
  // After the store was closed.
  void lose_unsynced(std::mt19937_64& random);

  rocksdb::IOStatus NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* result,
                                    rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus NewRandomAccessFile(const std::string& name,
                                        const rocksdb::FileOptions& options,
                                        std::unique_ptr<rocksdb::FSRandomAccessFile>* result,
                                        rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus NewDirectory(const std::string& name, const rocksdb::IOOptions& options,
                                 std::unique_ptr<rocksdb::FSDirectory>* result,
                                 rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus RenameFile(const std::string& from, const std::string& to,
                               const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus DeleteFile(const std::string& name, const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* debug) override;

 private:
  class WritableFile;
  class ReadableFile;
  class Directory;
  struct File {
    uint64_t synced_bytes = 0;
    bool name_synced = false;
    uint64_t order = 0;  // of its creation
  };
  struct Rename {
    std::string from;
    std::string to;
    std::optional<std::string> replaced;  // what `to` held
  };
  struct Fault {
    Doing doing;
    std::string suffix;
    bool no_space;
    int64_t after;
  };

  // What `doing` something to the file answers; OK unless it is to fail or the machine has stopped.
  rocksdb::IOStatus attempt(Doing doing, const std::string& name);
  rocksdb::IOStatus on_synced(const std::string& name, uint64_t bytes);
  rocksdb::IOStatus on_directory_synced();
  void tear(const std::string& name, uint64_t synced_bytes, std::mt19937_64& random) const;

  std::mutex mutex_;
  bool stopped_ = false;
  std::map<std::string, File> files_;  // by path: those written through here
  uint64_t created_ = 0;
  std::vector<Rename> renames_;                               // since the directory was synced
  std::vector<std::pair<std::string, std::string>> deleted_;  // path, what it held
  std::vector<Fault> faults_;
  std::atomic<int64_t> failures_{0};
};

}  // namespace stator::engine
