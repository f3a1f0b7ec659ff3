#include "moving/import.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <thread>

#include "json/reader.h"
#include "json/writer.h"
#include "moving/checkpoint.h"
#include "moving/interruption.h"
#include "moving/progress.h"

namespace stator::moving {

namespace {

constexpr size_t kBatchItems = 25;
// BatchWriteItem takes 16 MB; what one item may have beside its 400 KB in JSON fits in the rest.
constexpr size_t kBatchBytes = 12 * 1024 * 1024;
constexpr size_t kQueuedBatches = 64;
constexpr size_t kMostReaders = 4;
constexpr std::chrono::seconds kStateInterval{1};
constexpr auto kFirstPause = std::chrono::milliseconds(20);
constexpr auto kLongestPause = std::chrono::milliseconds(2000);
constexpr int kUnprocessedTries = 20;

// Changes of one part, in the order of the part.
struct Batch {
  size_t part = 0;
  uint64_t number = 0;   // of the part's batches
  std::string position;  // behind the last one
  std::vector<Change> changes;
};

// Batches on their way from readers to writers, bounded.
class Queue {
 public:
  // False if nobody takes them any more.
  bool push(Batch batch) {
    std::unique_lock lock(mutex_);
    has_room_.wait(lock, [this] { return stopped_ || batches_.size() < kQueuedBatches; });
    if (stopped_) return false;
    batches_.push_back(std::move(batch));
    has_batch_.notify_one();
    return true;
  }
  // False at the end.
  bool pop(Batch& batch) {
    std::unique_lock lock(mutex_);
    has_batch_.wait(lock, [this] { return stopped_ || closed_ || !batches_.empty(); });
    if (stopped_ || batches_.empty()) return false;
    batch = std::move(batches_.front());
    batches_.pop_front();
    // Readers fill it up again once half of it is gone, instead of waking for every batch.
    if (batches_.size() <= kQueuedBatches / 2) has_room_.notify_all();
    return true;
  }
  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    has_batch_.notify_all();
  }
  void stop() {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    has_batch_.notify_all();
    has_room_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable has_batch_;
  std::condition_variable has_room_;
  std::deque<Batch> batches_;
  bool closed_ = false;
  bool stopped_ = false;
};

class Importer {
 public:
  Importer(Source& source, client::Endpoint& endpoint, const ImportOptions& options)
      : source_(source),
        endpoint_(endpoint),
        options_(options),
        checkpoint_(read_checkpoint(options.state, options.what)),
        parts_(source.part_count()) {
    resumed_items_ = checkpoint_.items;
    checkpoint_.parts.resize(source.part_count());
  }

  ImportResult run() {
    const auto start = std::chrono::steady_clock::now();
    {
      const Interruption interruption;
      const Progress progress([this] { return look(); }, options_.quiet);
      std::vector<std::thread> readers;
      for (size_t i = 0; i < std::min(kMostReaders, parts_.size()); ++i)
        readers.emplace_back([this] { guard([this] { read_parts(); }); });
      std::vector<std::thread> writers;
      for (size_t i = 0; i < options_.writers; ++i)
        writers.emplace_back([this] { guard([this] { write_batches(); }); });
      for (std::thread& reader : readers) reader.join();
      queue_.close();
      for (std::thread& writer : writers) writer.join();
    }
    const std::lock_guard lock(mutex_);
    if (failure_) {
      // Where nothing was done, there is nothing to go on from.
      if (checkpoint_.items > 0) save();
      std::rethrow_exception(failure_);
    }
    std::filesystem::remove(options_.state);
    return {
        .items = written_.load(),
        .resumed_items = resumed_items_,
        .failed = failed_.load(),
        .seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()};
  }

 private:
  // Of one part: batches that are done, and which of them all before are done too.
  struct Part {
    std::atomic<uint64_t> done{0};
    uint64_t next = 0;
    struct Done {
      std::string position;
      uint64_t items = 0;
    };
    std::map<uint64_t, Done> ahead;
  };

  template <typename Work>
  void guard(const Work& work) {
    try {
      work();
    } catch (...) {
      {
        const std::lock_guard lock(mutex_);
        if (!failure_) failure_ = std::current_exception();
      }
      queue_.stop();
    }
  }

  void read_parts() {
    for (;;) {
      const size_t part = next_part_.fetch_add(1);
      if (part >= parts_.size()) return;
      if (!checkpoint_.parts[part].finished) read_part(part);
    }
  }

  void read_part(size_t part) {
    const std::unique_ptr<PartReader> reader = source_.open(part, checkpoint_.parts[part].position);
    uint64_t number = 0;
    std::vector<Change> changes;
    while (reader->read(changes, kBatchItems)) {
      Interruption::check();
      parts_[part].done = reader->done();
      // A page of another endpoint has more than one batch; only behind all of them is a position.
      size_t begin = 0;
      while (begin < changes.size()) {
        Batch batch;
        batch.part = part;
        batch.number = number++;
        size_t bytes = 0;
        while (begin < changes.size() && batch.changes.size() < kBatchItems &&
               bytes < kBatchBytes) {
          bytes += changes[begin].json.size();
          batch.changes.push_back(std::move(changes[begin++]));
        }
        if (begin == changes.size()) batch.position = reader->position();
        if (!queue_.push(std::move(batch))) return;
      }
      changes.clear();
    }
    parts_[part].done = reader->done();
    Batch end;
    end.part = part;
    end.number = number;
    queue_.push(std::move(end));
  }

  void write_batches() {
    Batch batch;
    while (queue_.pop(batch)) {
      const uint64_t items = batch.changes.size();
      if (items > 0) write(batch.changes);
      finish(batch, items);
    }
  }

  std::string request_of(const std::vector<Change>& changes) const {
    std::string body;
    size_t bytes = 256;
    for (const Change& change : changes) bytes += change.json.size() + 40;
    body.reserve(bytes);
    json::Object request(body);
    json::Object tables(request.key("RequestItems"));
    json::Array list(tables.key(options_.table));
    for (const Change& change : changes) {
      list.element()
          .append(change.is_delete ? R"({"DeleteRequest":{"Key":)" : R"({"PutRequest":{"Item":)")
          .append(change.json)
          .append("}}");
    }
    list.close();
    tables.close();
    request.close();
    return body;
  }

  void write(const std::vector<Change>& changes) {
    std::string body = request_of(changes);
    auto pause = kFirstPause;
    for (int attempt = 0;; ++attempt) {
      std::string answer;
      try {
        answer = endpoint_.call("BatchWriteItem", body);
      } catch (const client::ServiceError& error) {
        if (error.type() != "ValidationException" && error.type() != "SerializationException")
          throw;
        // One of them is wrong, or two have one key: each on its own, in order.
        for (const Change& change : changes) write_alone(change);
        return;
      }
      // The usual answer, without looking into it.
      if (answer == R"({"UnprocessedItems":{}})") break;
      json::Document document;
      if (!document.parse(std::move(answer))) throw std::runtime_error("the answer is not JSON");
      const auto left = json::object_member(document.root(), "UnprocessedItems");
      if (!left || left->size() == 0) break;
      if (attempt == kUnprocessedTries)
        throw std::runtime_error("the table takes no more items: its capacity is used up");
      body = R"({"RequestItems":)" +
             simdjson::minify(*json::member(document.root(), "UnprocessedItems")) + "}";
      std::this_thread::sleep_for(pause);
      pause = std::min(pause * 2, kLongestPause);
    }
    written_ += changes.size();
  }

  void write_alone(const Change& change) {
    std::string body;
    json::Object request(body);
    request.string("TableName", options_.table);
    request.key(change.is_delete ? "Key" : "Item").append(change.json);
    request.close();
    try {
      endpoint_.call(change.is_delete ? "DeleteItem" : "PutItem", body);
      ++written_;
    } catch (const client::ServiceError& error) {
      if (error.type() != "ValidationException" && error.type() != "SerializationException") throw;
      const uint64_t number = ++failed_;
      if (number > options_.errors_shown) return;
      constexpr size_t kShown = 200;
      std::fprintf(stderr, "%srefused: %s: %.*s%s\n", number == 1 ? "\n" : "", error.what(),
                   static_cast<int>(std::min(kShown, change.json.size())), change.json.c_str(),
                   change.json.size() > kShown ? "…" : "");
    }
  }

  // A batch is done: what lies before it and is done too need not be read again.
  void finish(const Batch& batch, uint64_t items) {
    const std::lock_guard lock(mutex_);
    Part& part = parts_[batch.part];
    part.ahead[batch.number] = {batch.position, items};
    PartState& state = checkpoint_.parts[batch.part];
    for (auto at = part.ahead.begin(); at != part.ahead.end() && at->first == part.next;
         at = part.ahead.erase(at)) {
      ++part.next;
      if (!at->second.position.empty()) state.position = at->second.position;
      if (at->second.items == 0) state.finished = true;
      checkpoint_.items += at->second.items;
    }
    const auto now = std::chrono::steady_clock::now();
    if (now - saved_ < kStateInterval) return;
    saved_ = now;
    save();
  }

  void save() { write_checkpoint(options_.state, checkpoint_); }

  ProgressState look() const {
    ProgressState state;
    state.items = resumed_items_ + written_.load();
    for (const Part& part : parts_) state.done += part.done.load();
    // A place in a file counts what lies before it, a number of items does not.
    if (!source_.counts_bytes()) state.done += resumed_items_;
    state.total = source_.total();
    return state;
  }

  Source& source_;
  client::Endpoint& endpoint_;
  const ImportOptions& options_;
  Queue queue_;
  std::mutex mutex_;
  Checkpoint checkpoint_;
  std::deque<Part> parts_;
  std::exception_ptr failure_;
  std::chrono::steady_clock::time_point saved_;  // at first long ago: the first batch is noted
  std::atomic<size_t> next_part_{0};
  std::atomic<uint64_t> written_{0};
  std::atomic<uint64_t> failed_{0};
  uint64_t resumed_items_ = 0;
};

std::string name_request(const std::string& table) {
  std::string body;
  json::Object request(body);
  request.string("TableName", table);
  request.close();
  return body;
}

// The description of a table; nothing if there is none.
std::optional<json::Document> describe(client::Endpoint& endpoint, const std::string& table) {
  try {
    json::Document document;
    if (!document.parse(endpoint.call("DescribeTable", name_request(table))))
      throw std::runtime_error("the answer of " + endpoint.name() + " is not JSON");
    return document;
  } catch (const client::ServiceError& error) {
    if (error.type() != "ResourceNotFoundException") throw;
    return std::nullopt;
  }
}

}  // namespace

bool ensure_table(client::Endpoint& endpoint, const std::string& table,
                  const std::string& request) {
  bool created = false;
  for (;;) {
    const std::optional<json::Document> description = describe(endpoint, table);
    if (description) {
      const auto status =
          json::string_member(*json::member(description->root(), "Table"), "TableStatus");
      if (status != "CREATING") return created;
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      continue;
    }
    if (created) throw std::runtime_error("the table " + table + " went away");
    if (request.empty()) {
      throw std::runtime_error("there is no table " + table +
                               ", and the source does not say what it is like: create it, or name "
                               "its keys with --key, such as --key PK:S,SK:N");
    }
    // The request without its name, so its first '{' is followed by a member.
    std::string body = request;
    std::string name = "\"TableName\":";
    json::append_quoted(name, table);
    body.insert(body.find('{') + 1, name + ",");
    endpoint.call("CreateTable", body);
    created = true;
  }
}

ImportResult import_items(Source& source, client::Endpoint& endpoint,
                          const ImportOptions& options) {
  if (auto* csv = dynamic_cast<NeedsKeyTypes*>(&source)) {
    const std::optional<json::Document> description = describe(endpoint, options.table);
    KeyTypes types;
    if (description) {
      const json::Element table = *json::member(description->root(), "Table");
      for (const json::Element attribute : client::list_of(table, "AttributeDefinitions")) {
        types.emplace_back(json::string_member(attribute, "AttributeName").value_or(""),
                           json::string_member(attribute, "AttributeType").value_or(""));
      }
    }
    csv->set_key_types(std::move(types));
  }
  return Importer(source, endpoint, options).run();
}

}  // namespace stator::moving
