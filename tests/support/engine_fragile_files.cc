#include "support/engine_fragile_files.h"

#include <algorithm>
#include <atomic>
#include <fstream>
#include <iterator>
#include <utility>

namespace stator::engine {

namespace {

using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

constexpr uint64_t kSectorBytes = 512;

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void write(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
}

bool by_chance(std::mt19937_64& random) {
  return random() % 2 == 0;
}

}  // namespace

class FragileFiles::WritableFile final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  WritableFile(FragileFiles& files, std::string name,
               std::unique_ptr<rocksdb::FSWritableFile>&& file)
      : FSWritableFileOwnerWrapper(std::move(file)), files_(files), name_(std::move(name)) {}

  IOStatus Append(const Slice& data, const IOOptions& options, IODebugContext* debug) override {
    IOStatus status = files_.attempt(Doing::kAppend, name_);
    if (!status.ok()) {
      // A disk that is full takes what still fits.
      if (status.IsNoSpace()) {
        const IOStatus half = target()->Append(Slice(data.data(), data.size() / 2), options, debug);
        if (half.ok()) bytes_ += data.size() / 2;
      }
      return status;
    }
    status = target()->Append(data, options, debug);
    if (status.ok()) bytes_ += data.size();
    return status;
  }
  IOStatus Append(const Slice& data, const IOOptions& options, const rocksdb::DataVerificationInfo&,
                  IODebugContext* debug) override {
    return Append(data, options, debug);
  }
  IOStatus Truncate(uint64_t size, const IOOptions& options, IODebugContext* debug) override {
    bytes_ = std::min(bytes_.load(), size);
    return target()->Truncate(size, options, debug);
  }
  // Nothing here outlives the test's own process, so that nothing has to reach a disk.
  IOStatus Sync(const IOOptions& options, IODebugContext* debug) override {
    const uint64_t bytes = bytes_;
    IOStatus status = files_.attempt(Doing::kSync, name_);
    if (status.ok()) status = target()->Flush(options, debug);
    return status.ok() ? files_.on_synced(name_, bytes) : status;
  }
  IOStatus Fsync(const IOOptions& options, IODebugContext* debug) override {
    return Sync(options, debug);
  }

 private:
  FragileFiles& files_;
  const std::string name_;
  std::atomic<uint64_t> bytes_{0};
};

class FragileFiles::ReadableFile final : public rocksdb::FSRandomAccessFileOwnerWrapper {
 public:
  ReadableFile(FragileFiles& files, std::string name,
               std::unique_ptr<rocksdb::FSRandomAccessFile>&& file)
      : FSRandomAccessFileOwnerWrapper(std::move(file)), files_(files), name_(std::move(name)) {}

  IOStatus Read(uint64_t offset, size_t n, const IOOptions& options, Slice* result, char* scratch,
                IODebugContext* debug) const override {
    const IOStatus status = files_.attempt(Doing::kRead, name_);
    if (!status.ok()) return status;
    return target()->Read(offset, n, options, result, scratch, debug);
  }
  IOStatus MultiRead(rocksdb::FSReadRequest* requests, size_t count, const IOOptions& options,
                     IODebugContext* debug) override {
    const IOStatus status = files_.attempt(Doing::kRead, name_);
    if (!status.ok()) return status;
    return target()->MultiRead(requests, count, options, debug);
  }

 private:
  FragileFiles& files_;
  const std::string name_;
};

class FragileFiles::Directory final : public rocksdb::FSDirectoryWrapper {
 public:
  Directory(FragileFiles& files, std::unique_ptr<rocksdb::FSDirectory>&& directory)
      : FSDirectoryWrapper(std::move(directory)), files_(files) {}
  IOStatus Fsync(const IOOptions&, IODebugContext*) override {
    return files_.on_directory_synced();
  }
  IOStatus FsyncWithDirOptions(const IOOptions&, IODebugContext*,
                               const rocksdb::DirFsyncOptions&) override {
    return files_.on_directory_synced();
  }

 private:
  FragileFiles& files_;
};

FragileFiles::FragileFiles() : FileSystemWrapper(rocksdb::FileSystem::Default()) {}

void FragileFiles::fail(Doing doing, std::string suffix, bool no_space, int64_t after) {
  const std::lock_guard lock(mutex_);
  faults_.push_back({doing, std::move(suffix), no_space, after});
}

void FragileFiles::mend() {
  const std::lock_guard lock(mutex_);
  faults_.clear();
  failures_ = 0;
}

void FragileFiles::stop_machine() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
}

IOStatus FragileFiles::attempt(Doing doing, const std::string& name) {
  const std::lock_guard lock(mutex_);
  if (stopped_ && doing != Doing::kRead) return IOStatus::IOError("the machine has stopped");
  for (Fault& fault : faults_) {
    if (fault.doing != doing || !name.ends_with(fault.suffix)) continue;
    if (fault.after-- > 0) continue;
    ++failures_;
    return fault.no_space ? IOStatus::NoSpace("No space left on device", name)
                          : IOStatus::IOError("Input/output error", name);
  }
  return IOStatus::OK();
}

// A flush that the machine does not live to see the end of is not answered.
IOStatus FragileFiles::on_synced(const std::string& name, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (stopped_) return IOStatus::IOError("the machine has stopped");
  const auto file = files_.find(name);
  if (file != files_.end()) file->second.synced_bytes = std::max(file->second.synced_bytes, bytes);
  return IOStatus::OK();
}

IOStatus FragileFiles::on_directory_synced() {
  const std::lock_guard lock(mutex_);
  if (stopped_) return IOStatus::IOError("the machine has stopped");
  for (auto& [name, file] : files_) file.name_synced = true;
  renames_.clear();
  deleted_.clear();
  return IOStatus::OK();
}

IOStatus FragileFiles::NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                       std::unique_ptr<rocksdb::FSWritableFile>* result,
                                       IODebugContext* debug) {
  IOStatus status = attempt(Doing::kCreate, name);
  if (status.ok()) status = target()->NewWritableFile(name, options, result, debug);
  if (!status.ok()) return status;
  const std::lock_guard lock(mutex_);
  files_[name] = File{.order = ++created_};
  *result = std::make_unique<WritableFile>(*this, name, std::move(*result));
  return status;
}

IOStatus FragileFiles::NewRandomAccessFile(const std::string& name,
                                           const rocksdb::FileOptions& options,
                                           std::unique_ptr<rocksdb::FSRandomAccessFile>* result,
                                           IODebugContext* debug) {
  const IOStatus status = target()->NewRandomAccessFile(name, options, result, debug);
  if (status.ok()) *result = std::make_unique<ReadableFile>(*this, name, std::move(*result));
  return status;
}

IOStatus FragileFiles::NewDirectory(const std::string& name, const IOOptions& options,
                                    std::unique_ptr<rocksdb::FSDirectory>* result,
                                    IODebugContext* debug) {
  const IOStatus status = target()->NewDirectory(name, options, result, debug);
  if (status.ok()) *result = std::make_unique<Directory>(*this, std::move(*result));
  return status;
}

IOStatus FragileFiles::RenameFile(const std::string& from, const std::string& to,
                                  const IOOptions& options, IODebugContext* debug) {
  const std::lock_guard lock(mutex_);
  if (stopped_) return IOStatus::IOError("the machine has stopped");
  Rename rename{from, to, std::nullopt};
  if (std::filesystem::exists(to)) rename.replaced = read(to);
  const IOStatus status = target()->RenameFile(from, to, options, debug);
  if (!status.ok()) return status;
  renames_.push_back(std::move(rename));
  const auto file = files_.extract(from);
  if (!file.empty()) files_[to] = file.mapped();
  return status;
}

IOStatus FragileFiles::DeleteFile(const std::string& name, const IOOptions& options,
                                  IODebugContext* debug) {
  const std::lock_guard lock(mutex_);
  if (stopped_) return IOStatus::IOError("the machine has stopped");
  const auto file = files_.find(name);
  // Only what was flushed can come back.
  if (file != files_.end() && file->second.name_synced)
    deleted_.emplace_back(name, read(name).substr(0, file->second.synced_bytes));
  files_.erase(name);
  return target()->DeleteFile(name, options, debug);
}

void FragileFiles::lose_unsynced(std::mt19937_64& random) {
  const std::lock_guard lock(mutex_);
  std::vector<uint64_t> loose;
  for (const auto& [name, file] : files_) {
    if (!file.name_synced) loose.push_back(file.order);
  }
  std::sort(loose.begin(), loose.end());
  const size_t kept = random() % (loose.size() + 1);
  const uint64_t first_lost = kept < loose.size() ? loose[kept] : UINT64_MAX;
  for (const auto& [name, file] : files_) {
    const bool is_renamed = std::any_of(renames_.begin(), renames_.end(),
                                        [&](const Rename& rename) { return rename.to == name; });
    if (!std::filesystem::exists(name)) continue;
    if (!file.name_synced && !is_renamed && file.order >= first_lost) {
      std::filesystem::remove(name);
    } else {
      tear(name, file.synced_bytes, random);
    }
  }
  // The newest first: an older rename can only be undone together with those after it.
  for (auto rename = renames_.rbegin(); rename != renames_.rend() && by_chance(random); ++rename) {
    std::filesystem::remove(rename->from);
    std::filesystem::rename(rename->to, rename->from);
    if (rename->replaced) write(rename->to, *rename->replaced);
  }
  for (const auto& [name, content] : deleted_) {
    if (by_chance(random)) write(name, content);
  }
}

void FragileFiles::tear(const std::string& name, uint64_t synced_bytes,
                        std::mt19937_64& random) const {
  std::string content = read(name);
  if (content.size() <= synced_bytes) return;
  const uint64_t loose = content.size() - synced_bytes;
  content.resize(synced_bytes + random() % (loose + 1));
  // Sectors reach the disk in any order.
  const uint64_t first = (synced_bytes + kSectorBytes - 1) / kSectorBytes * kSectorBytes;
  for (uint64_t at = first; at < content.size(); at += kSectorBytes) {
    if (random() % 8 != 0) continue;
    const uint64_t end = std::min<uint64_t>(at + kSectorBytes, content.size());
    std::fill(content.begin() + static_cast<ptrdiff_t>(at),
              content.begin() + static_cast<ptrdiff_t>(end), '\0');
  }
  write(name, content);
}

}  // namespace stator::engine
