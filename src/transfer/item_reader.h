// The items of an object that is imported.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/schema.h"
#include "model/value.h"
#include "transfer/source.h"

namespace stator::transfer {

struct ImportFormat {
  enum class Kind { kDynamoJson, kCsv };
  Kind kind = Kind::kDynamoJson;
  Compression compression = Compression::kNone;
  char delimiter = ',';
  std::vector<std::string> header;  // of CSV; empty: the first record of each object
};

// Reads the items of one object in order. Records that are no item are told of one by one; what
// makes the rest of the object unreadable is a DamagedObject.
class ItemReader {
 public:
  virtual ~ItemReader() = default;

  struct Next {
    // Exactly one of them.
    std::optional<model::Item> item;
    std::string error;      // what is wrong with this record; the next one may be good
    size_t size_bytes = 0;  // of the item by DynamoDB's rules
  };
  // Nothing at the end. Throws DamagedObject: then the object has nothing more to give.
  virtual std::optional<Next> next() = 0;
  // Plain bytes read so far.
  virtual uint64_t consumed_bytes() const = 0;
};

// `source` and `schema` outlive the reader; `definitions` says of what type the keys of the table
// and its indexes are.
std::unique_ptr<ItemReader> open_items(ByteSource& source, const ImportFormat& format,
                                       const model::TableSchema& schema,
                                       const std::vector<model::KeyAttribute>& definitions);

}  // namespace stator::transfer
