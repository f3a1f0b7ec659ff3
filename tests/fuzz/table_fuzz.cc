// Stored records of tables: bytes are a table or a CorruptRecord, and a table that was read is
// written and read again as the same.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "catalog/table_codec.h"
#include "common/bytes.h"
#include "replay_main.h"

using namespace stator;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view record(reinterpret_cast<const char*>(data), size);
  try {
    const std::string written = catalog::encode_table(catalog::decode_table(record));
    if (catalog::encode_table(catalog::decode_table(written)) != written) std::abort();
  } catch (const CorruptRecord&) {
  }
  return 0;
}
