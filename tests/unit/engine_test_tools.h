// Short words for tests of an engine. They try again where an engine may say no for no reason: a
// conflict, an expired view.
#pragma once

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/task.h"
#include "engine/engine.h"
#include "engine/rocksdb/rocksdb_engine.h"

namespace stator::engine {

class TempDirectory {
 public:
  TempDirectory() {
    static std::atomic<int> count{0};
    path_ = std::filesystem::temp_directory_path() /
            ("stator-engine-" + std::to_string(::getpid()) + "-" + std::to_string(++count));
    std::filesystem::remove_all(path_);
  }
  ~TempDirectory() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  TempDirectory(const TempDirectory&) = delete;
  TempDirectory& operator=(const TempDirectory&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

using Body = std::function<void(const Held&, Batch&)>;

inline Task<Outcome> mutate_until_done(
    Engine& engine, std::vector<std::string> shared, std::vector<std::string> exclusive, Body body,
    std::chrono::milliseconds patience = std::chrono::seconds(60)) {
  for (;;) {
    Mutation mutation;
    mutation.id = "test";
    mutation.shared = shared;
    mutation.exclusive = exclusive;
    mutation.patience = patience;
    mutation.body = body;
    Task<Outcome> change = engine.mutate(std::move(mutation));
    Outcome outcome = co_await change;
    if (outcome.kind != Outcome::Kind::kConflict) co_return outcome;
  }
}

inline Outcome mutate(Engine& engine, std::vector<std::string> shared,
                      std::vector<std::string> exclusive, Body body,
                      std::chrono::milliseconds patience = std::chrono::seconds(60)) {
  return run_blocking(mutate_until_done(engine, std::move(shared), std::move(exclusive),
                                        std::move(body), patience));
}

inline Outcome put(Engine& engine, const std::string& key, const std::string& value) {
  return mutate(engine, {}, {key}, [&](const Held&, Batch& batch) { batch.put(key, value); });
}

inline std::optional<std::string> get(View& view, const std::string& key) {
  for (;;) {
    try {
      return run_blocking(view.get(key));
    } catch (const ViewExpired&) {
    }
  }
}

inline std::optional<std::string> get(Engine& engine, const std::string& key) {
  const std::unique_ptr<View> view = engine.view();
  return get(*view, key);
}

inline std::vector<std::optional<std::string>> get_many(Engine& engine,
                                                        const std::vector<std::string>& keys) {
  for (;;) {
    try {
      const std::unique_ptr<View> view = engine.view();
      return run_blocking(view->get_many(keys));
    } catch (const ViewExpired&) {
    }
  }
}

inline std::optional<Rows> try_scan(Engine& engine, Range range,
                                    Direction direction = Direction::kForward,
                                    ScanLimit limit = {}) {
  try {
    const std::unique_ptr<View> view = engine.view();
    return run_blocking(view->scan(std::move(range), direction, limit));
  } catch (const ViewExpired&) {
    return std::nullopt;
  }
}

inline Rows scan(Engine& engine, const Range& range, Direction direction = Direction::kForward,
                 ScanLimit limit = {}) {
  for (;;) {
    std::optional<Rows> rows = try_scan(engine, range, direction, limit);
    if (rows) return std::move(*rows);
  }
}

inline std::string keys(const Rows& rows) {
  std::string text;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (i > 0) text += " ";
    text += rows.key(i);
  }
  return text;
}

inline uint64_t big_endian(std::string_view bytes) {
  uint64_t value = 0;
  for (const char c : bytes) value = value << 8 | static_cast<unsigned char>(c);
  return value;
}

inline int64_t decode(std::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return static_cast<int64_t>(value);
}

inline int64_t counter(Engine& engine, const std::string& key) {
  const std::optional<std::string> value = get(engine, key);
  return value && value->size() == 8 ? decode(*value) : -1'000'000'000;
}

}  // namespace stator::engine
