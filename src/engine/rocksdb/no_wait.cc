#include "engine/rocksdb/no_wait.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cassert>
#include <string>
#include <utility>

namespace stator::engine {

namespace {

thread_local bool must_not_wait = false;
thread_local bool ended_read = false;

class File final : public rocksdb::FSRandomAccessFileOwnerWrapper {
 public:
  // RocksDB does not show its own descriptor. Without a second one every read would wait.
  File(std::unique_ptr<rocksdb::FSRandomAccessFile> file, const std::string& name)
      : FSRandomAccessFileOwnerWrapper(std::move(file)),
        descriptor_(::open(name.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~File() override {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  rocksdb::IOStatus Read(uint64_t offset, size_t size, const rocksdb::IOOptions& options,
                         rocksdb::Slice* result, char* scratch,
                         rocksdb::IODebugContext* debug) const override {
    if (!must_not_wait)
      return FSRandomAccessFileOwnerWrapper::Read(offset, size, options, result, scratch, debug);
    const iovec into{scratch, size};
    const ssize_t bytes = ::preadv2(descriptor_, &into, 1, static_cast<off_t>(offset), RWF_NOWAIT);
    // Less than was asked for may be the file's end; whoever may wait finds out.
    if (bytes != static_cast<ssize_t>(size)) return would_wait();
    *result = rocksdb::Slice(scratch, size);
    return rocksdb::IOStatus::OK();
  }
  rocksdb::IOStatus MultiRead(rocksdb::FSReadRequest* requests, size_t count,
                              const rocksdb::IOOptions& options,
                              rocksdb::IODebugContext* debug) override {
    if (must_not_wait) return would_wait();
    return FSRandomAccessFileOwnerWrapper::MultiRead(requests, count, options, debug);
  }

 private:
  static rocksdb::IOStatus would_wait() {
    ended_read = true;
    return rocksdb::IOStatus::Aborted("what was to be read is not in memory");
  }

  const int descriptor_;
};

class Files final : public rocksdb::FileSystemWrapper {
 public:
  Files() : FileSystemWrapper(rocksdb::FileSystem::Default()) {}
  const char* Name() const override { return "FilesThatNeedNotWait"; }
  rocksdb::IOStatus NewRandomAccessFile(const std::string& name,
                                        const rocksdb::FileOptions& options,
                                        std::unique_ptr<rocksdb::FSRandomAccessFile>* result,
                                        rocksdb::IODebugContext* debug) override {
    rocksdb::IOStatus status = FileSystemWrapper::NewRandomAccessFile(name, options, result, debug);
    if (status.ok()) *result = std::make_unique<File>(std::move(*result), name);
    return status;
  }
};

}  // namespace

NoWait::NoWait() {
  assert(!must_not_wait);
  must_not_wait = true;
}

NoWait::~NoWait() {
  must_not_wait = ended_read = false;
}

bool NoWait::has_ended_read() {
  return ended_read;
}

std::shared_ptr<rocksdb::FileSystem> files_that_need_not_wait() {
  return std::make_shared<Files>();
}

}  // namespace stator::engine
