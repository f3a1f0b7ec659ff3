#include "server/process_memory.h"

#include <link.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

namespace stator::server {

namespace {

// Called for the program first and then for each library.
int release_code(dl_phdr_info* object, size_t, void*) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = object->dlpi_phdr[i];
    // Code is mapped from its file and never written, so dropping it loses nothing.
    if (part.p_type != PT_LOAD || (part.p_flags & (PF_X | PF_W)) != PF_X) continue;
    const uintptr_t begin = (object->dlpi_addr + part.p_vaddr) / page * page;
    const uintptr_t end = object->dlpi_addr + part.p_vaddr + part.p_memsz;
    ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
  }
  return 1;
}

}  // namespace

void keep_freed_memory() {
  ::mallopt(M_MMAP_THRESHOLD, 8 * 1024 * 1024);
  ::mallopt(M_TRIM_THRESHOLD, 16 * 1024 * 1024);
}

void release_startup_pages() {
  ::malloc_trim(0);
  ::dl_iterate_phdr(release_code, nullptr);
}

}  // namespace stator::server
