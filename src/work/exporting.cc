// Writes what tables were into buckets. An export goes on from its last finished file.
#include <spdlog/spdlog.h>

#include <chrono>

#include "store/history.h"
#include "transfer/export_file.h"
#include "work/jobs.h"
#include "work/transfer_failure.h"
#include "work/turns.h"

namespace stator::work {

namespace {

using catalog::Export;
using catalog::ExportProgress;
using catalog::TransferStatus;
using objects::ObjectError;
using SteadyTime = std::chrono::steady_clock::time_point;

constexpr std::chrono::milliseconds kTurn{200};
constexpr std::chrono::seconds kReportEvery{10};
constexpr engine::ScanLimit kPage{.rows = 8'192, .bytes = 1024 * 1024};
// Of lines in a data file; what is lost at most when the process ends in between.
constexpr uint64_t kFileBytes = 64 * 1024 * 1024;
constexpr size_t kFilesAtOnce = 1000;
// The least that the service charges an incremental export for.
constexpr int64_t kLeastBilled_bytes = 10'000'000;

class Running {
 public:
  Running(const TransferSite& site, catalog::ExportPtr exported)
      : site_(site), export_(std::move(exported)), progress_(site_.transfers.progress(*export_)) {
    spdlog::info("export {} of table {} to {}/{} {}", export_->id, export_->table_name,
                 export_->bucket, transfer::export_folder(*export_),
                 progress_.files > 0 ? "goes on" : "begins");
  }

  // Works for a while. True if there is more to do.
  bool advance() {
    try {
      if (!has_started_) {
        put(transfer::export_folder(*export_) + "_started", {});
        has_started_ = true;
      }
      const SteadyTime end = std::chrono::steady_clock::now() + kTurn;
      do {
        if (progress_.is_read) {
          finish();
          return false;
        }
        if (file_ == nullptr) begin_file();
        const bool more = export_->is_incremental ? write_changes() : write_items();
        if (!more || file_->plain_bytes() >= kFileBytes) end_file(!more);
      } while (std::chrono::steady_clock::now() < end);
      patience_.calm();
    } catch (const ObjectError& error) {
      file_.reset();
      progress_ = site_.transfers.progress(*export_);
      const auto code =
          patience_.failure_of(error, "export " + export_->id, site_.site.clock.now_ms());
      if (code) fail(*code, error.what());
      return false;
    }
    report();
    return true;
  }
  bool is_over() const { return is_over_; }

 private:
  void begin_file() {
    from_ = progress_.from;
    size_bytes_ = 0;
    file_ = std::make_unique<transfer::ExportFile>(
        site_.objects, export_->bucket,
        transfer::data_file_key(*export_, transfer::random_file_name(ids_)), terms());
  }

  objects::Terms terms() const {
    return {.kms_key = export_->sse_key, .kms = export_->sse_algorithm == "KMS"};
  }

  store::Past past() const {
    return {.table = export_->table,
            .era = export_->era,
            .first_day = export_->first_day,
            .cut = export_->cut};
  }

  // A page of what is to be written; false after the last one.
  bool write_items() {
    const store::PastPage page =
        run_blocking(store::read_past(site_.site.store.engine(), past(), from_, kPage));
    for (size_t i = 0; i < page.items.size(); ++i) {
      size_bytes_ += static_cast<int64_t>(transfer::item_line(page.items.value(i), line_));
      file_->add(line_);
    }
    if (page.next) from_ = *page.next;
    return page.next.has_value();
  }

  bool write_changes() {
    const store::PastChanges page = run_blocking(
        store::read_changes(site_.site.store.engine(), past(), export_->end_cut, from_, kPage));
    for (const store::PastChange& change : page.changes) {
      const auto size = transfer::change_line({change.before, change.after, change.written_us},
                                              export_->key_names, export_->has_old_images, line_);
      if (!size) continue;
      size_bytes_ += static_cast<int64_t>(*size);
      file_->add(line_);
    }
    if (page.next) from_ = *page.next;
    return page.next.has_value();
  }

  void end_file(bool is_last) {
    catalog::ExportedFile file = file_->finish();
    file_.reset();
    ExportProgress progress = progress_;
    progress.from = from_;
    progress.is_read = is_last;
    ++progress.files;
    progress.item_count += file.item_count;
    progress.size_bytes += size_bytes_;
    run_blocking(site_.transfers.keep(*export_, std::move(file), progress));
    progress_ = std::move(progress);
  }

  void finish() {
    const std::string folder = transfer::export_folder(*export_);
    const std::string files_key = folder + "manifest-files.json";
    std::string lines;
    for (uint32_t from = 0; from < progress_.files;) {
      const auto files = run_blocking(site_.transfers.files(*export_, from, kFilesAtOnce));
      if (files.empty()) throw std::runtime_error("files of the export are missing");
      for (const catalog::ExportedFile& file : files) transfer::append_file_line(lines, file);
      from += static_cast<uint32_t>(files.size());
    }
    Export done = *export_;
    done.status = TransferStatus::kCompleted;
    done.end_ms = site_.site.clock.now_ms();
    done.item_count = progress_.item_count;
    done.billed_bytes = progress_.size_bytes;
    if (done.is_incremental) done.billed_bytes = std::max(done.billed_bytes, kLeastBilled_bytes);
    done.manifest_key = folder + "manifest-summary.json";
    const std::string summary = transfer::summary_manifest(done, files_key);
    put(files_key, lines);
    put(folder + "manifest-files.md5", transfer::md5_base64(lines));
    put(done.manifest_key, summary);
    put(folder + "manifest-summary.md5", transfer::md5_base64(summary));
    end(std::move(done));
  }

  void put(const std::string& key, const std::string& bytes) {
    site_.objects.put(export_->bucket, key, bytes, terms());
  }

  void fail(const std::string& code, const std::string& message) {
    Export failed = *export_;
    failed.status = TransferStatus::kFailed;
    failed.end_ms = site_.site.clock.now_ms();
    failed.failure_code = code;
    failed.failure_message = message;
    end(std::move(failed));
  }

  void end(Export ended) {
    spdlog::info("export {} of table {} ended: {}{}{}; {} items in {} files", ended.id,
                 ended.table_name, catalog::status_name(ended.status),
                 ended.failure_code.empty() ? "" : " ", ended.failure_code, progress_.item_count,
                 progress_.files);
    run_blocking(site_.transfers.update(std::move(ended)));
    is_over_ = true;
  }

  void report() {
    const auto now = std::chrono::steady_clock::now();
    if (now - reported_ < kReportEvery) return;
    reported_ = now;
    spdlog::info("export {}: {} items so far", export_->id,
                 progress_.item_count + (file_ ? file_->item_count() : 0));
  }

  const TransferSite& site_;
  const catalog::ExportPtr export_;
  ExportProgress progress_;  // as it is kept
  bool has_started_ = false;
  std::unique_ptr<transfer::ExportFile> file_;
  std::string from_;        // where the file being written has come to
  int64_t size_bytes_ = 0;  // of the items in it
  std::string line_;
  RandomIds ids_;
  Patience patience_;
  SteadyTime reported_ = std::chrono::steady_clock::now();
  bool is_over_ = false;
};

class Exporting final : public Job {
 public:
  explicit Exporting(TransferSite site) : site_(std::move(site)) {}
  const char* name() const override { return "exporting a table"; }

  bool step() override {
    std::vector<catalog::ExportPtr> under_way;
    for (auto& exported : site_.transfers.exports()) {
      if (exported->status == TransferStatus::kInProgress) under_way.push_back(std::move(exported));
    }
    return turns_.take(under_way, [&](const catalog::ExportPtr& exported) {
      return std::make_unique<Running>(site_, exported);
    });
  }

 private:
  const TransferSite site_;
  Turns<Running> turns_{"export"};
};

}  // namespace

std::unique_ptr<Job> make_exporting(TransferSite site) {
  return std::make_unique<Exporting>(std::move(site));
}

}  // namespace stator::work
