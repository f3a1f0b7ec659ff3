// Where items come from when somebody moves in: files, folders, a model, another endpoint.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/endpoint.h"

namespace stator::moving {

// One change to make: an item to put, or the key of one to delete, as JSON with types.
struct Change {
  std::string json;
  bool is_delete = false;
};

// A part of a source, read in order by one thread. Throws std::runtime_error that names what cannot
// be read.
class PartReader {
 public:
  virtual ~PartReader() = default;
  // Appends up to `most` changes; false, with nothing appended, at the end.
  virtual bool read(std::vector<Change>& changes, size_t most) = 0;
  // Where to go on after what was read so far; never empty once something was read.
  virtual std::string position() const = 0;
  // What was read so far, in the unit of Source::total().
  virtual uint64_t done() const = 0;
};

// What a source knows of its table: a CreateTable request without its name. Empty: nothing.
struct TableDefinition {
  std::string name;  // its name there; may be empty
  std::string create_request;
};

class Source {
 public:
  virtual ~Source() = default;
  virtual TableDefinition definition() const { return {}; }
  // Parts can be read at the same time.
  virtual size_t part_count() const = 0;
  // From where position() said, or from the beginning.
  virtual std::unique_ptr<PartReader> open(size_t part, const std::string& position) = 0;
  // For progress: all there is, in bytes or items; 0 if nobody knows.
  virtual uint64_t total() const { return 0; }
  virtual bool counts_bytes() const { return true; }
};

enum class FileFormat { kDetect, kDynamoJson, kJson, kCsv, kWorkbench };

struct SourceOptions {
  std::string from;  // a file, a folder or a URL
  FileFormat format = FileFormat::kDetect;
  std::string table;     // of a model or endpoint with several
  size_t segments = 8;   // of an endpoint
  std::string region;    // of an endpoint
  std::string profile;   // of an endpoint
  char delimiter = ',';  // of CSV
};

// One source for each table that is there: a model may have several. Throws std::runtime_error with
// one clear sentence.
std::vector<std::unique_ptr<Source>> open_sources(const SourceOptions& options,
                                                  const client::Environment& environment);

// Types of key attributes, which CSV needs: {"PK", "S"}. Asked for when the table is there.
using KeyTypes = std::vector<std::pair<std::string, std::string>>;
// Tells a source of CSV what its table's keys are.
class NeedsKeyTypes {
 public:
  virtual ~NeedsKeyTypes() = default;
  virtual void set_key_types(KeyTypes types) = 0;
};

// The kinds of sources.
std::vector<std::unique_ptr<Source>> open_files(const SourceOptions& options);
std::vector<std::unique_ptr<Source>> open_workbench_model(const std::string& path,
                                                          const std::string& table);
std::unique_ptr<Source> open_other_endpoint(const SourceOptions& options,
                                            const client::Environment& environment);

}  // namespace stator::moving
