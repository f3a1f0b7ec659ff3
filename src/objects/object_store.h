// Buckets of objects, as S3 has them: where exports go and imports come from. A folder of this
// machine or any service that speaks S3. Blocking, for threads of background work.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "common/clock.h"

namespace stator::objects {

// Why an object or a bucket cannot be used. The text is one sentence that names it.
class ObjectError : public std::runtime_error {
 public:
  enum class Kind {
    kNoSuchBucket,
    kNoSuchKey,
    kAccessDenied,
    kInvalidKey,   // a key that the folder cannot hold: it would be outside of it, or no file
    kUnavailable,  // no answer, also not after several tries; later may be better
    kRefused,      // any other answer than success
    kStopped,      // stop() was called
  };
  ObjectError(Kind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  Kind kind() const { return kind_; }

 private:
  Kind kind_;
};

struct ObjectInfo {
  std::string key;
  uint64_t size_bytes = 0;
  std::string etag;  // tells two contents of a key apart
};

// One object being written. It is there, whole, after finish(), and not at all before. Ending it
// without finish() gives it up.
class Upload {
 public:
  virtual ~Upload() = default;
  virtual void write(std::string_view bytes) = 0;
  // Its ETag, without quotes. Call it once, last.
  virtual std::string finish() = 0;
};

// Thread-safe. Every call throws ObjectError.
class ObjectStore {
 public:
  virtual ~ObjectStore() = default;

  virtual std::unique_ptr<Upload> upload(const std::string& bucket, const std::string& key) = 0;
  // Whole, at once. Its ETag, without quotes.
  std::string put(const std::string& bucket, const std::string& key, std::string_view bytes);

  // Up to `size` bytes from `offset` on; fewer only at the object's end. With an `etag`: kRefused
  // if the object is another one by now.
  virtual std::string read(const std::string& bucket, const std::string& key, uint64_t offset,
                           size_t size, const std::string& etag = {}) = 0;

  // Objects whose keys begin with `prefix` and come after `after`, in the order of keys; at most
  // `limit`. Fewer than `limit` means that there are no more.
  virtual std::vector<ObjectInfo> list(const std::string& bucket, const std::string& prefix,
                                       const std::string& after, size_t limit) = 0;

  // Ends calls under way and refuses further ones. From any thread.
  virtual void stop() {}
};

// A bucket is a folder in `root`, an object is a file in it. Folders are made as they are needed,
// also those of buckets. A file appears under its name when it is whole and on disk.
std::unique_ptr<ObjectStore> open_folder(std::filesystem::path root);
// The same in a folder of its own among the system's temporary files, made when it is first written
// to and gone with the store.
std::unique_ptr<ObjectStore> open_temporary_folder();

struct S3Options {
  std::string endpoint;  // "https://s3.eu-west-1.amazonaws.com", "http://127.0.0.1:9000"
  std::string region = "us-east-1";
  std::string access_key;
  std::string secret_key;
  std::string session_token;
  bool path_style = true;               // the bucket is in the path; otherwise before the host
  std::string ca_file;                  // certificates to trust besides the system's
  size_t part_bytes = 8 * 1024 * 1024;  // of a multipart upload; S3 wants 5 MB at least
  int tries = 6;
  // Waits before another try; false ends the call. Tests do not wait.
  std::function<bool(std::chrono::milliseconds)> pause;
};
// Throws std::runtime_error if the endpoint is no URL. `clock` outlives the store.
std::unique_ptr<ObjectStore> open_s3(S3Options options, const Clock& clock);

struct Options {
  std::filesystem::path root;   // empty: a temporary folder
  std::optional<S3Options> s3;  // used instead of the folder
};
std::unique_ptr<ObjectStore> open(const Options& options, const Clock& clock);

}  // namespace stator::objects
