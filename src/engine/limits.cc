#include "engine/limits.h"

#include <string>
#include <variant>

namespace stator::engine {

namespace {

constexpr size_t kAppendedBytes = 12;  // version and ordinal behind the prefix of an append

void check_size(size_t bytes) {
  if (bytes <= kMaxKeyBytes) return;
  throw EngineError("a key of " + std::to_string(bytes) + " bytes is above the engine's limit of " +
                    std::to_string(kMaxKeyBytes));
}

struct CheckOperation {
  void operator()(const Batch::Put& put) const { check_key(put.key); }
  void operator()(const Batch::Erase& erase) const { check_key(erase.key); }
  void operator()(const Batch::EraseRange& erase) const {
    check_size(erase.range.begin.size());
    check_size(erase.range.end.size());
    if (erase.range.end > "\xff")
      throw EngineError("a range that ends above 0xFF holds keys of the engine");
  }
  void operator()(const Batch::Add& add) const { check_key(add.key); }
  void operator()(const Batch::Append& append) const {
    check_key(append.prefix);
    check_size(append.prefix.size() + kAppendedBytes);
  }
};

}  // namespace

void check_key(std::string_view key) {
  check_size(key.size());
  if (key.empty()) throw EngineError("a key is empty");
  if (key.front() == '\xff') throw EngineError("a key that begins with 0xFF belongs to the engine");
}

void check_limits(const Mutation& mutation) {
  for (const std::string& key : mutation.shared) check_key(key);
  for (const std::string& key : mutation.exclusive) check_key(key);
}

void check_limits(const Batch& batch) {
  const auto refuse = [](const char* what, size_t bytes, size_t limit) {
    throw EngineError(std::string(what) + " of " + std::to_string(bytes) +
                      " bytes is above the engine's limit of " + std::to_string(limit));
  };
  const size_t bytes = batch.bytes() - batch.appended_bytes();
  if (bytes > kMaxBatchBytes) refuse("a batch", bytes, kMaxBatchBytes);
  if (batch.appended_bytes() > kMaxAppendedBytes)
    refuse("a log entry", batch.appended_bytes(), kMaxAppendedBytes);
  for (const Batch::Operation& operation : batch.operations())
    std::visit(CheckOperation(), operation);
}

}  // namespace stator::engine
