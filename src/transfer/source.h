// Reading what is imported: the bytes of an object, decompressed, and the records in them.
// Streamed: a reader holds one part of the object and one record.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "objects/object_store.h"

namespace stator::transfer {

// An object whose bytes cannot be read any further. The text names the object and says what is
// wrong with it.
class DamagedObject : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

enum class Compression { kNone, kGzip, kZstd };

// The longest record: a largest item with every byte escaped is shorter.
inline constexpr size_t kMaxRecordBytes = 16 * 1024 * 1024;

// The plain bytes of something, in order.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Appends the next bytes; false, with nothing appended, at the end. Throws DamagedObject, or what
  // the store throws.
  virtual bool read(std::string& out) = 0;
  // For messages: "bucket/key".
  virtual std::string name() const = 0;
};

// Of an object of a bucket. `store` outlives it. The object must not change while it is read: it is
// then damaged.
std::unique_ptr<ByteSource> open_object(objects::ObjectStore& store, std::string bucket,
                                        objects::ObjectInfo object, Compression compression);

// Takes compressed bytes and appends plain ones. A stream of several gzip members or zstd frames is
// one text.
class Inflater {
 public:
  virtual ~Inflater() = default;
  // Takes all of `bytes`. Throws std::runtime_error with a reason.
  virtual void feed(std::string_view bytes, std::string& out) = 0;
  // At the end of the input: throws if that is not the end of a stream.
  virtual void finish() = 0;
};
std::unique_ptr<Inflater> make_inflater(Compression compression);

// Bytes that come in parts and may be compressed.
class InflatedSource : public ByteSource {
 public:
  explicit InflatedSource(Compression compression) : inflater_(make_inflater(compression)) {}
  bool read(std::string& out) final;
  // Of the parts as they come, compressed.
  uint64_t done_bytes() const { return done_bytes_; }

 protected:
  // Puts the next part in place of `part`; false at the end. A std::runtime_error says what is
  // wrong with the object; an ObjectError, which says what is wrong with its store, is passed on.
  virtual bool fetch(std::string& part) = 0;

 private:
  std::unique_ptr<Inflater> inflater_;
  std::string part_;
  size_t fed_ = 0;
  uint64_t done_bytes_ = 0;
};

// Lines, without their ends.
class LineReader {
 public:
  explicit LineReader(ByteSource& source) : source_(source) {}
  // Nothing at the end. The view holds until the next call. The last line needs no end.
  std::optional<std::string_view> next();
  // Plain bytes of the lines given out so far, with their ends.
  uint64_t consumed_bytes() const { return consumed_bytes_; }

 private:
  ByteSource& source_;
  std::string buffer_;
  size_t begin_ = 0;
  uint64_t consumed_bytes_ = 0;
  bool at_end_ = false;
};

// Records of comma-separated values, as RFC 4180 has them: fields in double quotes may hold the
// delimiter, ends of lines, and quotes written twice. Empty lines are passed over.
class CsvReader {
 public:
  CsvReader(ByteSource& source, char delimiter) : source_(source), delimiter_(delimiter) {}
  // False at the end. Throws DamagedObject for a quote that does not end, or that text follows.
  bool next(std::vector<std::string>& fields);
  uint64_t consumed_bytes() const { return consumed_bytes_; }

 private:
  // The next character without taking it; nothing at the end.
  std::optional<char> peek();
  void take() { ++begin_, ++consumed_bytes_; }
  void read_quoted(std::string& field);
  void count_record_bytes();

  ByteSource& source_;
  const char delimiter_;
  std::string buffer_;
  size_t begin_ = 0;
  size_t record_bytes_ = 0;
  uint64_t consumed_bytes_ = 0;
  bool at_end_ = false;
};

}  // namespace stator::transfer
