// A thread's bump allocator, as the runtime has it.
#pragma once

#include <cstdint>

namespace freehold::heap {

// The first 56 bytes of the runtime's Thread: its bump allocator (runtime-facts: gc_alloc_context).
struct AllocationContext {
  uint8_t* alloc_ptr;
  uint8_t* alloc_limit;
  int64_t alloc_bytes;      // bytes handed to the thread, up to alloc_limit
  int64_t alloc_bytes_uoh;  // bytes of large and pinned objects
  void* chunk_end;          // gc_reserved_1: end of the thread's chunk (the limit moves towards it as memory is zeroed)
  void* reserved;           // gc_reserved_2
  int32_t alloc_count;
};
static_assert(sizeof(AllocationContext) == 56);

}  // namespace freehold::heap
