// What the heap holds and what meshing did, as numbers and as JSON. Counted when asked; figures of different parts are of slightly different moments.
#pragma once

#include <cstddef>
#include <cstdint>

namespace freehold::mesh {

struct Statistics {
  uint64_t live_bytes;    // in objects, rounded up to their slots or pages
  uint64_t cached_bytes;  // free slots in threads' shuffle vectors
  uint64_t free_bytes;    // free slots in spans
  uint64_t used_bytes;    // memory of spans and large objects
  uint64_t dirty_bytes;   // memory that is free and not given back yet
  uint64_t saved_bytes;   // memory that spans do not need because they are meshed, now
  uint64_t large_bytes;
  uint64_t spans, aliases, meshes, passes, refused, copied_bytes, mesh_nanoseconds, longest_nanoseconds;
  uint64_t resident_bytes;      // of the process: counts a meshed page for each of its addresses
  uint64_t proportional_bytes;  // PSS of the process: counts it once. 0: the kernel does not say
  uint64_t threads;
  const char* barrier;
  const char* other_allocator;  // the file name of another malloc in the process, or empty
};

Statistics read_statistics() noexcept;
// What the whole text needs, without its zero.
size_t write_statistics(char* text, size_t capacity) noexcept;

}  // namespace freehold::mesh
