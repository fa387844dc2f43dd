// Allocation: the slow path, and what is tried before it fails.
#pragma once

#include <cstddef>
#include <cstdint>

#include "heap/allocation_context.h"

namespace freehold::heap {

enum AllocationFlags : uint32_t {
  kAllocFinalize = 1,
  kAllocContainsReferences = 2,
  kAllocZeroingOptional = 0x10,
  kAllocLarge = 0x20,
  kAllocPinned = 0x40,
};

// The slow path of allocation: returns zeroed memory for an object of `size` bytes (a multiple of 8), header included: the
// result is the object pointer, 8 bytes into it. Null when memory is exhausted. Any thread, with its own context.
void* allocate(AllocationContext* context, size_t size, uint32_t flags) noexcept;

// The short part of it: moves the limit of the context within its chunk, so that an object of `size` bytes fits. False: that takes allocate(). Blocks on
// nothing. Any thread, with its own context.
bool extend(AllocationContext* context, size_t size) noexcept;

// Gives back what is left of a thread's chunk. The thread itself, on exit.
void retire(AllocationContext* context) noexcept;

// In the child of a fork: a thread that was about to mark is not here. It guards no data.
void forget_reclaiming_thread() noexcept;

}  // namespace freehold::heap
