// Whether a record of the catalog can be read: for a look at data that no server uses.
#pragma once

#include <string_view>

namespace stator::catalog {

// `key` begins with "m". Throws CorruptRecord if there is no such record, or it is not what one of
// its kind looks like. Tables, streams and backups have decoders of their own.
void check_record(std::string_view key, std::string_view value);

}  // namespace stator::catalog
