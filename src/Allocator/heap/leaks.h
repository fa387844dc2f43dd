// Leaks: objects that nobody deleted and no root reaches (heap/reachability.h), by type and by where they were allocated. Nothing is deleted, no handle is cleared, no finalizer runs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/object.h"
#include "heap/reachability.h"

namespace freehold::heap {

// System.LeakEntry has the same layout. An entry without samples counts objects. One with samples tells of a type what was sampled of its leaks (heap/allocation_samples.h), and
// estimates how many objects that stands for: what the entries of a type without samples say is exact, these give the shares of its sites.
struct LeakEntry {
  const core::MethodTable* type;  // null: the entry is not used
  uint32_t stack;                 // heap/stack_store.h; kNoStack: of no site that is known
  uint32_t samples;
  uint64_t objects, bytes;
};
static_assert(sizeof(LeakEntry) == 32);

// In `entries`, which has room for `capacity`, a power of two. kNoRoom: that is too few. As find_unreachable().
MarkingResult find_leaks(LeakEntry* entries, size_t capacity) noexcept;

// The same of all live objects, whether a root reaches them or not: without marks, and without samples. With FREEHOLD_DEBUG=stacks each has its place of allocation.
MarkingResult find_live_by_place(LeakEntry* entries, size_t capacity) noexcept;

}  // namespace freehold::heap
