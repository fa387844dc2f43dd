// Debug mode: what is known of an object after its memory is gone, for the exception at its use. One record a page (each object has pages of its
// own), one a block for objects above kHugeObject. Records outlive the objects: addresses are not reused. So that they do not grow for ever, the
// records of segments are forgotten in the order in which they began: those of the last kSegmentsRemembered stay, about 16 million objects.
//
// Written by the allocating and by the deleting thread, without a lock; two threads that delete one object write the same type.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/object.h"

namespace freehold::heap {

// System.Heap/ObjectHistory.cs has the same layout.
struct History {
  const core::MethodTable* type;  // null: not deleted, or not known
  uint32_t allocated, deleted;    // stacks (heap/stack_store.h); kNoStack unless FREEHOLD_DEBUG=stacks
};
static_assert(sizeof(History) == 16);

inline constexpr size_t kSegmentsRemembered = 32;

// Walks the calling thread's stack from its innermost managed frame: at most `capacity` return addresses. The layer above does that.
enum class StackOf { kAllocation, kDeletion };
using StackWalker = size_t (*)(StackOf what, uintptr_t* addresses, size_t capacity);
void set_stack_walker(StackWalker walker) noexcept;

// The stack of the calling thread, its innermost `frames` (at most kStackDepth), in heap/stack_store.h. kNoStack: there is none.
uint32_t remember_stack_of(StackOf what, size_t frames) noexcept;

// With stacks only: an object was allocated, its type is not yet known. The allocating thread, without locks.
void note_allocated(const uint8_t* start) noexcept;
// Before its memory goes. The deleting thread, without locks.
void note_deleted(const uint8_t* start, size_t size, const core::MethodTable* type) noexcept;

// With stacks only: where the live object was allocated.
uint32_t allocation_stack(const uint8_t* start) noexcept;
// Of the deleted object that has, or had, `address`. Any thread, any address; signal-safe.
History history_of(uintptr_t address) noexcept;

}  // namespace freehold::heap
