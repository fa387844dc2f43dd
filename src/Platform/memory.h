// Mappings of memory: what the kernel does, without failures that a test asks for. The halves' own interfaces to the kernel (os.h) stand on it. Sizes are in bytes,
// addresses page-aligned. errno stays; none allocates.
#pragma once

#include <errno.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

#include "Platform/system_call.h"

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace freehold::os {

inline constexpr size_t kPageSize = 4096;
inline constexpr int kPageShift = 12;

// Null: refused.
inline void* map(void* at, size_t size, int protection, int flags, int descriptor = -1, size_t offset = 0) noexcept {
  long start = system_call(SYS_mmap, argument(at), static_cast<long>(size), protection, flags, descriptor, static_cast<long>(offset));
  return is_error(start) ? nullptr : reinterpret_cast<void*>(start);
}
// Zeroes of this process that take no memory until they are written.
inline void* map_private(void* at, size_t size, int protection, int flags = 0) noexcept {
  return map(at, size, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags);
}
// The same, at that address or nowhere. Null: refused, and *reason is the error's number; EEXIST: something is there.
inline void* map_private_at(uintptr_t at, size_t size, int protection, int* reason) noexcept {
  long start = system_call(SYS_mmap, static_cast<long>(at), static_cast<long>(size), protection,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (start == static_cast<long>(at)) return reinterpret_cast<void*>(start);
  *reason = is_error(start) ? static_cast<int>(-start) : EEXIST;
  // A kernel that does not know the flag takes the address for a hint.
  if (!is_error(start)) system_call(SYS_munmap, start, static_cast<long>(size));
  return nullptr;
}
inline void unmap(void* start, size_t size) noexcept { system_call(SYS_munmap, argument(start), static_cast<long>(size)); }
inline bool protect(void* start, size_t size, int protection) noexcept {
  return system_call(SYS_mprotect, argument(start), static_cast<long>(size), protection) == 0;
}
inline bool advise(void* start, size_t size, int advice) noexcept { return system_call(SYS_madvise, argument(start), static_cast<long>(size), advice) == 0; }
// The frames move to a range that is mapped; the old range stays mapped, empty.
inline bool remap_frames(void* from, void* to, size_t size) noexcept {
  auto bytes = static_cast<long>(size);
  return !is_error(system_call(SYS_mremap, argument(from), bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP, argument(to)));
}
// `to` becomes a second name of the pages that `from`, a shared mapping, has.
inline bool map_again(void* from, void* to, size_t size) noexcept {
  return !is_error(system_call(SYS_mremap, argument(from), 0, static_cast<long>(size), MREMAP_MAYMOVE | MREMAP_FIXED, argument(to)));
}

}  // namespace freehold::os
