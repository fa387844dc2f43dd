// What System.GC calls a collection. Two things of this heap count as one: a marking that deletes what no root reaches, whoever asked for it (of all generations; a young reclaim is one of
// generation 1), and a call of GC.Collect that made none. Programs also allocate until GC.CollectionCount changes: so a round of the background thread that is due to what was allocated
// counts too, for generation 0.
#pragma once

#include <cstdint>

#include "heap/reclaim_scope.h"

namespace freehold::runtime {

// GC.Collect: a marking, then what heap::collect() does. Cheap calls, of a young generation or where the program leaves it to the collector, mark at every fifth
// at most, and only as often as that costs a fiftieth of the time. Of a young generation, each makes a young reclaim, if those cost no more than a tenth of the time. Preemptive mode.
void collect_garbage(int32_t generation, int32_t mode) noexcept;

// Any thread, any mode. Asks the background thread for a round when enough was allocated.
int32_t collection_count(int32_t generation) noexcept;

// The last collection; `index` is 0 before there was one.
struct LastCollection {
  uint64_t index;  // of all collections
  uint32_t generation;
};
enum class CollectionKind : int32_t { kAny = 0, kEphemeral = 1, kFullBlocking = 2, kBackground = 3 };  // as GCKind
LastCollection last_collection(CollectionKind kind) noexcept;

// Around each marking that deletes: for heap::RootSupport. `done`: it was possible.
void collection_begins(heap::ReclaimScope scope) noexcept;
void collection_ends(heap::ReclaimScope scope, bool done) noexcept;

// GC.RegisterForFullGCNotification and what belongs to it.
bool register_full_gc_notification() noexcept;
bool cancel_full_gc_notification() noexcept;
// 0 = succeeded, 1 = failed: nobody registered, 2 = cancelled, 3 = timeout; negative milliseconds wait for ever. By P/Invoke (the pass BlockingImports): a thread that
// waits does not hold suspensions up.
int32_t wait_for_full_gc_approach(int32_t milliseconds) noexcept;
int32_t wait_for_full_gc_complete(int32_t milliseconds) noexcept;

}  // namespace freehold::runtime
