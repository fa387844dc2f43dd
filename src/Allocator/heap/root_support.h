// What a marking needs of the layer above, and its figures.
#pragma once

#include <atomic>
#include <cstdint>

#include "heap/reclaim_scope.h"

namespace freehold::heap {

struct ReachabilityCounters {
  std::atomic<uint64_t> markings, abandoned;  // abandoned: no memory for marks
  std::atomic<uint64_t> reclaims;             // markings of all objects after which what they found was deleted: released when that is done
  std::atomic<uint64_t> young;                // likewise, of young objects
  std::atomic<uint64_t> young_bytes;          // deleted by these, part of `bytes`
  std::atomic<uint64_t> finalizable;          // found before their finalizers had run
  std::atomic<uint64_t> objects, bytes;       // deleted
  std::atomic<uint64_t> longest_stop;         // nanoseconds
};
extern ReachabilityCounters reachability_counters;

// What the layer above does for a marking. `stop` stops the threads, calls stopped(argument), and lets them run; false: there is nothing to stop yet. The
// others are called between. A root is what keeps an object alive, on stacks, in thread statics and in handles: `address` may lie within it if `interior`.
// Both objects of a dependent handle: the secondary lives as long as the primary does. Frozen segments: as RemapSupport has them.
struct RootSupport {
  bool (*stop)(void (*stopped)(void* argument), void* argument);
  void (*for_each_root)(void (*fn)(uintptr_t address, bool interior, void* argument), void* argument);
  void (*for_each_dependent)(void (*fn)(uintptr_t primary, uintptr_t secondary, void* argument), void* argument);
  void (*for_each_frozen)(void (*fn)(uint8_t* first, uint8_t* end, void* argument), void* argument);
  // Each weak handle that does not wait for finalizers.
  void (*for_each_weak)(void (*fn)(uint64_t* slot, void* argument), void* argument);
  // After the threads run again: there is something in heap/finalization_queue.h or heap/dead_locks.h.
  void (*run_finalizers)();
  // Around a marking that deletes, before the threads are stopped and after they run again; of all objects, or of young ones. `done`: there was memory for it.
  void (*begins)(ReclaimScope scope);
  void (*ends)(ReclaimScope scope, bool done);
  // The roots on stacks and in thread statics alone.
  void (*for_each_stack_root)(void (*fn)(uintptr_t address, bool interior, void* argument), void* argument);
  // With the threads stopped: empties each handle that keeps nothing alive and leads to what does not stay, dependent ones too. `resurrection`: such a handle leads to its object
  // as long as that is there, not only until no root reaches it.
  void (*clear_handles)(bool (*stays)(uintptr_t address, bool resurrection, void* argument), void* argument);
};

}  // namespace freehold::heap
