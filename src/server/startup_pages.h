// Gives back what only the start needed.
#pragma once

namespace stator::server {

// Takes the program's code out of the process's memory: most of what start-up touched is never run
// again, the kernel has it cached, and what is run again comes back by itself.
void release_startup_pages();

}  // namespace stator::server
