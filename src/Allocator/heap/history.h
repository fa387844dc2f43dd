// Debug mode, and guarded objects: what is known of an object after its memory is gone, for the exception at its use. One record a page (each object has pages of its
// own), one a block for objects above kHugeObject. Records outlive the objects: in debug mode addresses are not reused. So that they do not grow for ever, the
// records of segments are forgotten in the order in which they began: those of the last kSegmentsRemembered stay, about 16 million objects. Those of guarded objects
// are forgotten by the block (heap/guarded_blocks.h), and before an address is used again.
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
  uint32_t allocated, deleted;    // stacks (heap/stack_store.h); kNoStack unless FREEHOLD_DEBUG=stacks, or guarded; kAlive: guarded, and not deleted
};
static_assert(sizeof(History) == 16);
inline constexpr uint32_t kAlive = UINT32_MAX;  // no stack has this number

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

// A guarded object gets a page; before anybody sees it. False: no memory for the record.
bool note_guarded(const uint8_t* start, uint32_t stack) noexcept;
// Its end, before the page goes. True to one of the threads that come, unless it was forgotten before.
bool note_guarded_deleted(const uint8_t* start, const core::MethodTable* type, bool with_stack) noexcept;
bool is_guarded_alive(const uint8_t* start) noexcept;
// The records of a block of guarded objects go. Returns how many were alive; each object is told here or by its end.
size_t forget_guarded_block(size_t block) noexcept;
// What a late thread may have written there too, before the addresses of so many blocks are used again.
void forget_history(size_t block, size_t count) noexcept;

// With stacks only: where the live object was allocated.
uint32_t allocation_stack(const uint8_t* start) noexcept;
// Of the deleted object that has, or had, `address`. Any thread, any address; signal-safe.
History history_of(uintptr_t address) noexcept;

}  // namespace freehold::heap
