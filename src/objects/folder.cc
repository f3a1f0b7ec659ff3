// Keys:
//   <root>/<bucket>/<key>                        an object
//   <root>/<bucket>/.stator-uploads/<random>     one being written; what a crash left is removed a
//   day later
#include <dirent.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <mutex>
#include <set>
#include <system_error>

#include "common/hex.h"
#include "common/ids.h"
#include "objects/object_store.h"

namespace stator::objects {

namespace {

using Kind = ObjectError::Kind;

constexpr std::string_view kUploads = ".stator-uploads";
constexpr int64_t kUploadLifetime_s = 24 * 60 * 60;
constexpr int kMaxDepth = 512;  // S3's keys have 1024 bytes
constexpr mode_t kFolderMode = 0777;
constexpr mode_t kFileMode = 0666;

// A file descriptor that closes itself.
class File {
 public:
  File() = default;
  explicit File(int fd) : fd_(fd) {}
  File(File&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  File& operator=(File&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

ObjectError failure(const std::string& what, const std::string& name) {
  const int error = errno;
  const Kind kind = error == EACCES || error == EPERM ? Kind::kAccessDenied : Kind::kRefused;
  return {kind, what + " " + name + ": " + std::generic_category().message(error)};
}

ObjectError no_such_bucket(const std::string& bucket) {
  return {Kind::kNoSuchBucket, "The specified bucket does not exist: " + bucket};
}

ObjectError no_such_key(const std::string& bucket, const std::string& key) {
  return {Kind::kNoSuchKey, "The specified key does not exist: " + bucket + "/" + key};
}

// The API allows no other names; this is what keeps a bucket inside the root.
void check_bucket(const std::string& bucket) {
  const bool plain = std::all_of(bucket.begin(), bucket.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '-' || c == '_';
  });
  if (bucket.empty() || bucket.size() > 255 || !plain || bucket.front() == '.') {
    throw ObjectError(Kind::kNoSuchBucket, "Not the name of a bucket: " + bucket);
  }
}

// The folders of a key and its file. A key that is no path inside the bucket throws.
std::vector<std::string> split_key(const std::string& key) {
  std::vector<std::string> segments;
  size_t begin = 0;
  for (;;) {
    const size_t slash = key.find('/', begin);
    std::string segment = key.substr(begin, slash - begin);
    const bool good = !segment.empty() && segment != "." && segment != ".." &&
                      segment.size() <= 255 && segment.find('\0') == std::string::npos &&
                      segment != kUploads;
    if (!good || segments.size() >= kMaxDepth) {
      throw ObjectError(Kind::kInvalidKey, "A folder cannot hold an object of this key: " + key);
    }
    segments.push_back(std::move(segment));
    if (slash == std::string::npos) return segments;
    begin = slash + 1;
  }
}

// Opens a folder inside another one. Links are never followed: a key must not lead out of its
// bucket.
File open_folder_in(int parent, const std::string& name) {
  return File(::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

File make_folder_in(int parent, const std::string& name, const std::string& key) {
  if (::mkdirat(parent, name.c_str(), kFolderMode) != 0 && errno != EEXIST) {
    throw failure("cannot make a folder for", key);
  }
  File made = open_folder_in(parent, name);
  if (!made) throw failure("cannot use the folder of", key);
  return made;
}

// What tells two contents of a file apart without reading it.
std::string etag_of(const struct stat& status) {
  return std::to_string(status.st_ino) + "-" + std::to_string(status.st_size) + "-" +
         std::to_string(status.st_mtim.tv_sec) + "." + std::to_string(status.st_mtim.tv_nsec);
}

class FolderUpload final : public Upload {
 public:
  FolderUpload(File uploads, std::string temporary, File folder, std::string name, std::string key)
      : uploads_(std::move(uploads)),
        temporary_(std::move(temporary)),
        folder_(std::move(folder)),
        name_(std::move(name)),
        key_(std::move(key)),
        digest_(EVP_MD_CTX_new(), &EVP_MD_CTX_free) {
    file_ = File(::openat(uploads_.get(), temporary_.c_str(),
                          O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kFileMode));
    if (!file_) throw failure("cannot write", key_);
    EVP_DigestInit_ex(digest_.get(), EVP_md5(), nullptr);
  }
  ~FolderUpload() override {
    if (file_ && !finished_) ::unlinkat(uploads_.get(), temporary_.c_str(), 0);
  }

  void write(std::string_view bytes) override {
    EVP_DigestUpdate(digest_.get(), bytes.data(), bytes.size());
    while (!bytes.empty()) {
      const ssize_t written = ::write(file_.get(), bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) throw failure("cannot write", key_);
      bytes.remove_prefix(static_cast<size_t>(written));
    }
  }

  std::string finish() override {
    if (::fsync(file_.get()) != 0) throw failure("cannot flush", key_);
    if (::renameat(uploads_.get(), temporary_.c_str(), folder_.get(), name_.c_str()) != 0) {
      throw failure("cannot write", key_);
    }
    finished_ = true;
    ::fsync(folder_.get());
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
    unsigned size = 0;
    EVP_DigestFinal_ex(digest_.get(), digest.data(), &size);
    return to_hex({reinterpret_cast<const char*>(digest.data()), size});
  }

 private:
  File uploads_;
  const std::string temporary_;
  File folder_;
  const std::string name_;
  const std::string key_;
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> digest_;
  File file_;
  bool finished_ = false;
};

// Walks a bucket in the order of keys, where a folder's name counts with the '/' that follows it.
class Listing {
 public:
  Listing(std::string prefix, std::string after, size_t limit)
      : prefix_(std::move(prefix)), after_(std::move(after)), limit_(limit) {}

  std::vector<ObjectInfo> run(File bucket) {
    walk(std::move(bucket), {}, 0);
    return std::move(found_);
  }

 private:
  // True if some key that begins with `path` may be wanted. `path` is a folder with its '/'.
  bool is_wanted_folder(const std::string& path) const {
    const size_t common = std::min(path.size(), prefix_.size());
    if (path.compare(0, common, prefix_, 0, common) != 0) return false;
    // Everything in it comes before `after` if it does not contain it and sorts before it.
    return path > after_ || after_.compare(0, path.size(), path) == 0;
  }

  void walk(File folder, const std::string& path, int depth) {
    if (depth > kMaxDepth) return;
    DIR* opened = ::fdopendir(::dup(folder.get()));
    if (opened == nullptr) throw failure("cannot list", path);
    const std::unique_ptr<DIR, int (*)(DIR*)> entries(opened, &::closedir);
    std::vector<std::string> names;  // a folder's with '/'
    while (const dirent* entry = ::readdir(opened)) {
      std::string name = entry->d_name;
      if (name == "." || name == ".." || (depth == 0 && name == kUploads)) continue;
      struct stat status {};
      if (::fstatat(folder.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
      if (S_ISDIR(status.st_mode)) {
        names.push_back(name + "/");
      } else if (S_ISREG(status.st_mode)) {
        names.push_back(std::move(name));
      }
    }
    std::sort(names.begin(), names.end());
    for (const std::string& name : names) {
      if (found_.size() >= limit_) return;
      const std::string key = path + name;
      if (name.back() == '/') {
        if (!is_wanted_folder(key)) continue;
        File inner = open_folder_in(folder.get(), name.substr(0, name.size() - 1));
        if (inner) walk(std::move(inner), key, depth + 1);
        continue;
      }
      if (!key.starts_with(prefix_) || key <= after_) continue;
      struct stat status {};
      if (::fstatat(folder.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
      found_.push_back({key, static_cast<uint64_t>(status.st_size), etag_of(status)});
    }
  }

  const std::string prefix_;
  const std::string after_;
  const size_t limit_;
  std::vector<ObjectInfo> found_;
};

class Folder final : public ObjectStore {
 public:
  Folder(std::filesystem::path root, bool is_temporary)
      : root_(std::move(root)), is_temporary_(is_temporary) {}
  ~Folder() override {
    std::error_code ignored;
    if (is_temporary_) std::filesystem::remove_all(root_, ignored);
  }

  std::unique_ptr<Upload> upload(const std::string& bucket, const std::string& key,
                                 const Terms&) override {
    const std::vector<std::string> segments = split_key(key);
    File folder = make_bucket(bucket);
    File uploads = make_folder_in(folder.get(), std::string(kUploads), key);
    remove_old_uploads(bucket, uploads.get());
    for (size_t i = 0; i + 1 < segments.size(); ++i) {
      folder = make_folder_in(folder.get(), segments[i], key);
    }
    return std::make_unique<FolderUpload>(std::move(uploads), ids_.uuid(), std::move(folder),
                                          segments.back(), key);
  }

  std::string read(const std::string& bucket, const std::string& key, uint64_t offset, size_t size,
                   const std::string& etag) override {
    const std::vector<std::string> segments = split_key(key);
    File folder = open_bucket(bucket);
    for (size_t i = 0; i + 1 < segments.size() && folder; ++i) {
      folder = open_folder_in(folder.get(), segments[i]);
    }
    if (!folder) throw no_such_key(bucket, key);
    // Not to wait for a pipe's other end.
    const File file(::openat(folder.get(), segments.back().c_str(),
                             O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat status {};
    if (!file && errno == EACCES) throw failure("cannot read", key);
    if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
      throw no_such_key(bucket, key);
    }
    if (!etag.empty() && etag != etag_of(status)) {
      throw ObjectError(Kind::kRefused, bucket + "/" + key + " was changed while it was read");
    }
    std::string bytes(std::min<uint64_t>(size, static_cast<uint64_t>(status.st_size)), '\0');
    size_t filled = 0;
    while (filled < bytes.size()) {
      const ssize_t count = ::pread(file.get(), bytes.data() + filled, bytes.size() - filled,
                                    static_cast<off_t>(offset + filled));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) throw failure("cannot read", key);
      if (count == 0) break;
      filled += static_cast<size_t>(count);
    }
    bytes.resize(filled);
    return bytes;
  }

  std::vector<ObjectInfo> list(const std::string& bucket, const std::string& prefix,
                               const std::string& after, size_t limit) override {
    return Listing(prefix, after, limit).run(open_bucket(bucket));
  }

 private:
  // The operator may have linked a bucket to elsewhere: that is followed, links inside of it are
  // not.
  File open_bucket(const std::string& bucket) {
    check_bucket(bucket);
    File folder(::open((root_ / bucket).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!folder && (errno == EACCES || errno == EPERM)) throw failure("cannot use bucket", bucket);
    if (!folder) throw no_such_bucket(bucket);
    return folder;
  }

  File make_bucket(const std::string& bucket) {
    check_bucket(bucket);
    std::error_code error;
    const bool made = std::filesystem::create_directories(root_ / bucket, error);
    if (error) {
      throw ObjectError(Kind::kAccessDenied,
                        "cannot make bucket " + bucket + ": " + error.message());
    }
    if (made) spdlog::info("made bucket {}", (root_ / bucket).string());
    return open_bucket(bucket);
  }

  void remove_old_uploads(const std::string& bucket, int uploads) {
    {
      const std::lock_guard lock(mutex_);
      if (!swept_.insert(bucket).second) return;
    }
    DIR* opened = ::fdopendir(::dup(uploads));
    if (opened == nullptr) return;
    const std::unique_ptr<DIR, int (*)(DIR*)> entries(opened, &::closedir);
    const int64_t now_s = static_cast<int64_t>(::time(nullptr));
    while (const dirent* entry = ::readdir(opened)) {
      struct stat status {};
      if (::fstatat(uploads, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
      const bool is_old = status.st_mtim.tv_sec < now_s - kUploadLifetime_s;
      if (S_ISREG(status.st_mode) && is_old) ::unlinkat(uploads, entry->d_name, 0);
    }
  }

  const std::filesystem::path root_;
  const bool is_temporary_;
  RandomIds ids_;
  std::mutex mutex_;
  std::set<std::string> swept_;  // buckets looked through for what crashes left
};

}  // namespace

std::unique_ptr<ObjectStore> open_folder(std::filesystem::path root) {
  return std::make_unique<Folder>(std::move(root), false);
}

std::unique_ptr<ObjectStore> open_temporary_folder() {
  std::error_code error;
  std::filesystem::path base = std::filesystem::temp_directory_path(error);
  if (error) base = "/tmp";
  return std::make_unique<Folder>(base / ("stator-s3-" + RandomIds().uuid()), true);
}

}  // namespace stator::objects
