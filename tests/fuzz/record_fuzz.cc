// Stored items: bytes are an item or a CorruptRecord. An item that was read is written and read
// again as the same.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "common/bytes.h"
#include "model/codec.h"
#include "replay_main.h"

namespace {

using namespace stator;

void read_value(std::string_view bytes) {
  try {
    const model::Value value = model::decode_value(bytes);
    std::string written;
    model::encode_value(value, written);
    std::string_view rest = written;
    if (model::decode_value(rest) != value || !rest.empty()) std::abort();
  } catch (const CorruptRecord&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view record(reinterpret_cast<const char*>(data), size);
  read_value(record);
  try {
    std::string_view rest = record;
    model::RecordHeader header = model::read_header(rest);
    const model::Item item = model::decode_item(rest);
    header.size_bytes = std::min<uint64_t>(header.size_bytes, size);  // it is reserved
    if (model::decode_record(model::encode_record(item, header)) != item) std::abort();
  } catch (const CorruptRecord&) {
  }
  return 0;
}
