// Tells a log that the machine's end cut off from a log that is damaged.
#pragma once

#include <filesystem>

namespace stator::engine {

// A commit writes one record to the log and waits for its flush before the next one is written. So
// when the machine stops, only the last record of the newest log can be incomplete, in any of its
// parts. True if that explains every damage that the newest log in `directory` has: nothing that
// was acknowledged is behind it.
bool only_last_record_is_torn(const std::filesystem::path& directory);

}  // namespace stator::engine
