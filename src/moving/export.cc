#include "moving/export.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <exception>
#include <fstream>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "catalog/transfers.h"
#include "client/plain_value.h"
#include "common/clock.h"
#include "common/ids.h"
#include "json/reader.h"
#include "json/writer.h"
#include "moving/checkpoint.h"
#include "moving/interruption.h"
#include "moving/item_source.h"
#include "moving/progress.h"
#include "moving/scan.h"
#include "moving/typed_json.h"
#include "objects/object_store.h"
#include "transfer/export_file.h"

namespace stator::moving {

namespace fs = std::filesystem;

namespace {

// Runs `work(segment)` for each segment on a thread of its own; the first exception is thrown.
template <typename Work>
void for_each_segment(size_t segments, const Work& work) {
  std::mutex mutex;
  std::exception_ptr failure;
  std::vector<std::thread> threads;
  for (size_t segment = 0; segment < segments; ++segment) {
    threads.emplace_back([&, segment] {
      try {
        work(segment);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!failure) failure = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (failure) std::rethrow_exception(failure);
}

// The layout of AWS. Notes of the checkpoint: the export's id, its start, then a line of the
// manifest for each finished file.
class FolderExport {
 public:
  FolderExport(client::Endpoint& endpoint, const ExportOptions& options, const ScannedTable& table)
      : endpoint_(endpoint),
        options_(options),
        table_(table),
        checkpoint_(read_checkpoint(options.state, options.what)),
        store_(objects::open_folder(fs::absolute(options.to).lexically_normal().parent_path())) {
    exported_.bucket = fs::absolute(options.to).lexically_normal().filename().string();
    if (checkpoint_.notes.size() < 2) {
      checkpoint_ = {options.what, 0, {}, {}};
      checkpoint_.notes.push_back(
          fmt::format("{:014}-{:08x}", clock_.now_ms(), static_cast<uint32_t>(ids_.number())));
      checkpoint_.notes.push_back(std::to_string(clock_.now_ms()));
    }
    checkpoint_.parts.resize(options.segments);
    exported_.id = checkpoint_.notes[0];
    exported_.start_ms = std::stoll(checkpoint_.notes[1]);
    exported_.export_time_ms = exported_.start_ms;
    exported_.table_arn = table.arn;
    exported_.table_id = table.id;
    exported_.arn = table.arn + "/export/" + exported_.id;
  }

  std::string run(std::atomic<uint64_t>& items) {
    items += checkpoint_.items;
    for_each_segment(options_.segments, [&](size_t segment) {
      if (!checkpoint_.parts[segment].finished) read_segment(segment, items);
    });
    write_manifests();
    fs::remove(options_.state);
    return (options_.to / "AWSDynamoDB" / exported_.id).string();
  }

 private:
  void read_segment(size_t segment, std::atomic<uint64_t>& items) {
    const std::unique_ptr<PartReader> reader = open_segment(
        endpoint_, options_.table, segment, options_.segments, checkpoint_.parts[segment].position);
    std::vector<Change> page;
    std::unique_ptr<transfer::ExportFile> file;
    std::string line;
    while (reader->read(page, 0)) {
      Interruption::check();
      if (!file) {
        std::string name;
        {
          const std::lock_guard lock(mutex_);
          name = transfer::random_file_name(ids_);
        }
        file = std::make_unique<transfer::ExportFile>(*store_, exported_.bucket,
                                                      transfer::data_file_key(exported_, name));
      }
      for (const Change& change : page) {
        line = R"({"Item":)";
        line.append(change.json).push_back('}');
        file->add(line);
      }
      items += page.size();
      page.clear();
      if (file->plain_bytes() >= options_.file_bytes)
        keep(segment, *reader, std::move(file), false);
    }
    keep(segment, *reader, std::move(file), true);
  }

  // A file is whole: notes it, and how far the segment is.
  void keep(size_t segment, const PartReader& reader, std::unique_ptr<transfer::ExportFile> file,
            bool finished) {
    std::string line;
    int64_t count = 0;
    if (file) {
      const catalog::ExportedFile done = file->finish();
      transfer::append_file_line(line, done);
      count = done.item_count;
    }
    const std::lock_guard lock(mutex_);
    if (!line.empty()) checkpoint_.notes.push_back(line);
    checkpoint_.items += static_cast<uint64_t>(count);
    checkpoint_.parts[segment] = {reader.position(), finished};
    write_checkpoint(options_.state, checkpoint_);
  }

  void write_manifests() {
    const std::string folder = transfer::export_folder(exported_);
    std::string files;
    for (size_t i = 2; i < checkpoint_.notes.size(); ++i) files += checkpoint_.notes[i];
    exported_.end_ms = clock_.now_ms();
    exported_.item_count = static_cast<int64_t>(checkpoint_.items);
    exported_.billed_bytes = table_.size_bytes;
    put(folder + "manifest-files", files);
    // Not one of AWS's files: what the table is like, so that an import can create it.
    store_->put(exported_.bucket, folder + "table.json", table_.create_request);
    put(folder + "manifest-summary",
        transfer::summary_manifest(exported_, folder + "manifest-files.json"));
  }

  void put(const std::string& name, const std::string& text) {
    store_->put(exported_.bucket, name + ".json", text);
    store_->put(exported_.bucket, name + ".md5", transfer::md5_base64(text));
  }

  client::Endpoint& endpoint_;
  const ExportOptions& options_;
  const ScannedTable& table_;
  const SystemClock clock_;
  RandomIds ids_;
  std::mutex mutex_;
  Checkpoint checkpoint_;
  std::unique_ptr<objects::ObjectStore> store_;
  catalog::Export exported_;
};

void append_field(std::string& out, std::string_view text) {
  const bool plain = text.find_first_of(",\"\r\n") == std::string_view::npos;
  if (plain) {
    out.append(text);
    return;
  }
  out.push_back('"');
  for (const char c : text) {
    if (c == '"') out.push_back('"');
    out.push_back(c);
  }
  out.push_back('"');
}

// All columns are only known behind the last item, so the items wait in files of their own. Notes
// of the checkpoint: of each segment how long its file was when that was noted, and how many items
// it had.
class CsvExport {
 public:
  CsvExport(client::Endpoint& endpoint, const ExportOptions& options, const ScannedTable& table)
      : endpoint_(endpoint),
        options_(options),
        checkpoint_(read_checkpoint(options.state, options.what)),
        spooled_(options.segments),
        columns_(table.key_names) {
    checkpoint_.parts.resize(options.segments);
    for (size_t i = 0; i < std::min(options.segments, checkpoint_.notes.size()); ++i)
      resume(i, checkpoint_.notes[i]);
  }

  std::string run(std::atomic<uint64_t>& items) {
    fs::create_directories(options_.to);
    for (const Spooled& spooled : spooled_) items += spooled.items;
    for_each_segment(options_.segments, [&](size_t segment) {
      if (!checkpoint_.parts[segment].finished) read_segment(segment, items);
    });
    find_columns();
    const fs::path path = options_.to / (options_.table + ".csv");
    const fs::path draft = path.string() + ".new";
    write_file(draft);
    fs::rename(draft, path);
    for (size_t segment = 0; segment < options_.segments; ++segment) fs::remove(spool(segment));
    fs::remove(options_.state);
    return path.string();
  }

 private:
  // What of a segment's items is in its file.
  struct Spooled {
    uint64_t bytes = 0;
    uint64_t items = 0;
  };

  fs::path spool(size_t segment) const {
    return options_.to / fmt::format(".{}-{}.jsonl", options_.table, segment);
  }

  // Goes on behind what was noted. A file that is shorter than that lost its end with the machine:
  // its segment is read anew.
  void resume(size_t segment, const std::string& note) {
    const size_t space = note.find(' ');
    if (space == std::string::npos) return;
    const Spooled noted{std::stoull(note.substr(0, space)), std::stoull(note.substr(space + 1))};
    std::error_code error;
    const uintmax_t size = fs::file_size(spool(segment), error);
    if (error || size < noted.bytes) {
      checkpoint_.parts[segment] = {};
      return;
    }
    fs::resize_file(spool(segment), noted.bytes);
    spooled_[segment] = noted;
  }

  void read_segment(size_t segment, std::atomic<uint64_t>& items) {
    const std::unique_ptr<PartReader> reader = open_segment(
        endpoint_, options_.table, segment, options_.segments, checkpoint_.parts[segment].position);
    Spooled spooled = spooled_[segment];
    std::ofstream out(spool(segment),
                      std::ios::binary | (spooled.bytes > 0 ? std::ios::app : std::ios::trunc));
    std::vector<Change> page;
    uint64_t noted_bytes = spooled.bytes;
    while (reader->read(page, 0)) {
      Interruption::check();
      for (const Change& change : page) {
        out << change.json << '\n';
        spooled.bytes += change.json.size() + 1;
      }
      spooled.items += page.size();
      items += page.size();
      page.clear();
      if (spooled.bytes - noted_bytes < options_.file_bytes) continue;
      note(segment, *reader, out, spooled, false);
      noted_bytes = spooled.bytes;
    }
    note(segment, *reader, out, spooled, true);
  }

  void note(size_t segment, const PartReader& reader, std::ofstream& out, const Spooled& spooled,
            bool finished) {
    out.flush();
    if (!out) throw std::runtime_error("cannot write " + spool(segment).string());
    const std::lock_guard lock(mutex_);
    spooled_[segment] = spooled;
    checkpoint_.parts[segment] = {reader.position(), finished};
    checkpoint_.items = 0;
    checkpoint_.notes.clear();
    for (const Spooled& each : spooled_) {
      checkpoint_.items += each.items;
      checkpoint_.notes.push_back(fmt::format("{} {}", each.bytes, each.items));
    }
    write_checkpoint(options_.state, checkpoint_);
  }

  template <typename Work>
  void for_each_item(const Work& work) const {
    json::Document document;
    for (size_t segment = 0; segment < options_.segments; ++segment) {
      std::ifstream in(spool(segment), std::ios::binary);
      for (std::string line; std::getline(in, line);) {
        if (!document.parse(line)) throw std::runtime_error("an item is not JSON");
        work(document.root());
      }
    }
  }

  // The keys, then all others in the order of their names.
  void find_columns() {
    std::set<std::string, std::less<>> names;
    for_each_item([&](const json::Element& item) {
      const simdjson::dom::object members = item.get_object().value_unsafe();
      for (const auto& member : members) {
        if (!names.contains(member.key)) names.emplace(member.key);
      }
    });
    for (const std::string& key : columns_) names.erase(key);
    columns_.insert(columns_.end(), names.begin(), names.end());
  }

  void write_file(const fs::path& path) const {
    std::ofstream out(path, std::ios::binary | std::ios::trunc);
    std::string row;
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (i > 0) row.push_back(',');
      append_field(row, columns_[i]);
    }
    out << row << '\n';
    for_each_item([&](const json::Element& item) {
      row.clear();
      for (size_t i = 0; i < columns_.size(); ++i) {
        if (i > 0) row.push_back(',');
        if (const auto value = json::member(item, columns_[i]))
          append_field(row, client::plain_value(*value));
      }
      out << row << '\n';
    });
    out.close();
    if (!out) throw std::runtime_error("cannot write " + path.string());
  }

  client::Endpoint& endpoint_;
  const ExportOptions& options_;
  std::mutex mutex_;
  Checkpoint checkpoint_;
  std::vector<Spooled> spooled_;
  std::vector<std::string> columns_;
};

}  // namespace

ExportResult export_table(client::Endpoint& endpoint, const ExportOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  const ScannedTable table = describe_table(endpoint, options.table);
  std::atomic<uint64_t> items{0};
  std::string folder;
  {
    const Interruption interruption;
    const Progress progress(
        [&] {
          return ProgressState{items.load(), items.load(), static_cast<uint64_t>(table.item_count)};
        },
        options.quiet);
    folder = options.is_csv ? CsvExport(endpoint, options, table).run(items)
                            : FolderExport(endpoint, options, table).run(items);
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return {items.load(), seconds, folder};
}

}  // namespace stator::moving
