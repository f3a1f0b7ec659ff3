// The event source mappings of this database: keeps them and where they stand, and has them work.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "common/clock.h"
#include "common/ids.h"
#include "common/metrics.h"
#include "common/task.h"
#include "database/database.h"
#include "triggers/invoker.h"
#include "triggers/mapping.h"
#include "triggers/runner.h"

namespace stator::triggers {

struct MappingsOptions {
  std::string region = "us-east-1";
  std::string account = "123456789012";
  Backoff backoff;
};

// A mapping as the API shows it.
struct MappingView {
  Mapping mapping;
  std::string state;
  std::string last_result;
};

// Thread-safe.
class Mappings {
 public:
  static constexpr size_t kMaxMappings = 1000;

  // Reads what was kept. All outlive the mappings. Nothing is delivered before start(). `kinesis`
  // takes the changes of tables with a Kinesis destination; without it they wait in their stream.
  Mappings(Database& database, Invoker& invoker, const Clock& clock, MappingsOptions options,
           Invoker* kinesis = nullptr);
  ~Mappings();
  Mappings(const Mappings&) = delete;
  Mappings& operator=(const Mappings&) = delete;

  void start();
  // Ends the calls under way and keeps where every mapping stands. The invoker is of no use after.
  void stop();

  const MappingsOptions& options() const { return options_; }
  const Invoker& invoker() const { return invoker_; }
  const Clock& clock() const { return clock_; }

  // The changes throw LambdaError. Each is durable when it ends, and what it answers shows the
  // change as under way.
  Task<MappingView> create(Mapping mapping);
  Task<MappingView> update(std::string uuid, std::function<void(Mapping&)> change);
  Task<MappingView> remove(std::string uuid);
  std::optional<MappingView> find(const std::string& uuid) const;
  // In the order of their UUIDs.
  std::vector<MappingView> list() const;

  // What the mappings do, for the operator: JSON, and the text of Prometheus.
  std::string report() const;
  void write_metrics(metrics::Text& text) const;

 private:
  struct Entry {
    Mapping mapping;
    std::string changing;  // "Creating", "Updating", "Deleting"; empty: no change is under way
    std::string last_result;
    Checkpoints kept;  // as it is on disk
    std::shared_ptr<Runner> runner;
    bool outdated = false;  // the runner works by an older mapping
    // Not one of the API but of a Kinesis destination: the function is the Kinesis stream.
    bool is_kinesis = false;
  };

  void load();
  void run();
  void follow_kinesis(std::vector<Note>& notes);
  int64_t look_after(Entry& entry, std::vector<Note>& notes, int64_t now_ms, uint64_t version);
  static void note_progress(Entry& entry, std::vector<Note>& notes);
  void keep(std::vector<Note> notes);
  void wake();
  // A mapping with what its runner has counted since it began.
  struct Seen {
    MappingView view;
    Counts counts;
    int64_t lag_ms = 0;
  };
  std::vector<Seen> look() const;
  MappingView view(const Entry& entry, std::string_view state = {}) const;
  Entry& need(const std::string& uuid, std::string_view change);

  Database& database_;
  Invoker& invoker_;
  const Clock& clock_;
  const MappingsOptions options_;
  RandomIds ids_;
  RunnerSite runner_site_;
  std::optional<RunnerSite> kinesis_site_;

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::map<std::string, Entry> entries_;
  std::vector<std::shared_ptr<Runner>> retired_;  // of mappings that were deleted
  std::optional<uint64_t> kinesis_version_;       // at which the destinations were looked at
  bool woken_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace stator::triggers
