// What the process keeps of its memory.
#pragma once

namespace stator::server {

// Called once, before there are other threads. Answers of a megabyte come and go: their memory is
// kept for the next one, since the kernel takes longer to hand it out again than they take to make.
void keep_freed_memory();

// Takes the program's code out of the process's memory: most of what start-up touched is never run
// again, the kernel has it cached, and what is run again comes back by itself.
void release_startup_pages();

}  // namespace stator::server
