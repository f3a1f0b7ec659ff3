#include "transfer/source.h"

#include <algorithm>

namespace stator::transfer {

namespace {

constexpr size_t kPartBytes = 4 * 1024 * 1024;
// What is given to an inflater at once: its output is held whole, and a bomb makes a thousand bytes
// of one.
constexpr size_t kFeedBytes = 16 * 1024;

class Object final : public InflatedSource {
 public:
  Object(objects::ObjectStore& store, std::string bucket, objects::ObjectInfo object,
         Compression compression)
      : InflatedSource(compression),
        store_(store),
        bucket_(std::move(bucket)),
        object_(std::move(object)) {}

  std::string name() const override { return bucket_ + "/" + object_.key; }

 private:
  bool fetch(std::string& part) override {
    if (offset_ >= object_.size_bytes) return false;
    using Kind = objects::ObjectError::Kind;
    try {
      part = store_.read(bucket_, object_.key, offset_, kPartBytes, object_.etag);
    } catch (const objects::ObjectError& error) {
      // Changed or removed by somebody: this object is lost, others are not.
      if (error.kind() != Kind::kRefused && error.kind() != Kind::kNoSuchKey) throw;
      throw std::runtime_error(error.what());
    }
    if (part.empty()) throw std::runtime_error("the object is shorter than it was");
    offset_ += part.size();
    return true;
  }

  objects::ObjectStore& store_;
  const std::string bucket_;
  const objects::ObjectInfo object_;
  uint64_t offset_ = 0;
};

// Moves the rest of a buffer to its front once it is worth it.
void compact(std::string& buffer, size_t& begin) {
  if (begin < buffer.size() / 2 && begin < kFeedBytes) return;
  buffer.erase(0, begin);
  begin = 0;
}

}  // namespace

bool InflatedSource::read(std::string& out) {
  const size_t before = out.size();
  try {
    while (out.size() == before) {
      if (fed_ == part_.size()) {
        const bool more = fetch(part_);
        fed_ = 0;
        if (!more) {
          part_.clear();
          inflater_->finish();
          return false;
        }
      }
      const std::string_view piece = std::string_view(part_).substr(fed_, kFeedBytes);
      fed_ += piece.size();
      done_bytes_ += piece.size();
      inflater_->feed(piece, out);
    }
  } catch (const objects::ObjectError&) {
    throw;
  } catch (const std::runtime_error& error) {
    throw DamagedObject(name() + ": " + error.what());
  }
  return true;
}

std::unique_ptr<ByteSource> open_object(objects::ObjectStore& store, std::string bucket,
                                        objects::ObjectInfo object, Compression compression) {
  return std::make_unique<Object>(store, std::move(bucket), std::move(object), compression);
}

std::optional<std::string_view> LineReader::next() {
  size_t searched = begin_;
  for (;;) {
    const size_t end = buffer_.find('\n', searched);
    if (end != std::string::npos) {
      const std::string_view line = std::string_view(buffer_).substr(begin_, end - begin_);
      consumed_bytes_ += line.size() + 1;
      begin_ = end + 1;
      return line;
    }
    if (at_end_) break;
    if (buffer_.size() - begin_ > kMaxRecordBytes) {
      throw DamagedObject(source_.name() + ": a line is longer than " +
                          std::to_string(kMaxRecordBytes) + " bytes");
    }
    compact(buffer_, begin_);
    searched = buffer_.size();
    at_end_ = !source_.read(buffer_);
  }
  if (begin_ == buffer_.size()) return std::nullopt;
  const std::string_view line = std::string_view(buffer_).substr(begin_);
  consumed_bytes_ += line.size();
  begin_ = buffer_.size();
  return line;
}

std::optional<char> CsvReader::peek() {
  while (begin_ == buffer_.size()) {
    if (at_end_) return std::nullopt;
    buffer_.clear();
    begin_ = 0;
    at_end_ = !source_.read(buffer_);
  }
  return buffer_[begin_];
}

void CsvReader::count_record_bytes() {
  if (++record_bytes_ > kMaxRecordBytes) {
    throw DamagedObject(source_.name() + ": a record is longer than " +
                        std::to_string(kMaxRecordBytes) + " bytes");
  }
}

void CsvReader::read_quoted(std::string& field) {
  take();
  for (;;) {
    const auto c = peek();
    if (!c) throw DamagedObject(source_.name() + ": a quoted field does not end");
    take();
    count_record_bytes();
    if (*c != '"') {
      field.push_back(*c);
      continue;
    }
    if (peek() != '"') break;
    take();
    field.push_back('"');
  }
  const auto behind = peek();
  if (behind && *behind != delimiter_ && *behind != '\n' && *behind != '\r') {
    throw DamagedObject(source_.name() + ": text follows a quoted field");
  }
}

bool CsvReader::next(std::vector<std::string>& fields) {
  fields.clear();
  record_bytes_ = 0;
  while (peek() == '\n' || peek() == '\r') take();
  if (!peek()) return false;
  for (;;) {
    std::string field;
    if (peek() == '"') {
      read_quoted(field);
    } else {
      while (const auto c = peek()) {
        if (*c == delimiter_ || *c == '\n' || *c == '\r') break;
        field.push_back(*c);
        take();
        count_record_bytes();
      }
    }
    fields.push_back(std::move(field));
    const auto end = peek();
    if (end == delimiter_) {
      take();
      continue;
    }
    if (end == '\r') take();
    if (peek() == '\n') take();
    return true;
  }
}

}  // namespace stator::transfer
