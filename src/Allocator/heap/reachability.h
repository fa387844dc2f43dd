// What no root reaches any more: objects that the program forgot to delete. Found by marking, as a collector does (Jones, Hosking and Moss, The Garbage
// Collection Handbook, chapter 2), but only where something asks for it: the program, an allocation that would fail, FREEHOLD_RECLAIM_GROWTH, FREEHOLD_STRESS=reclaim.
//
// The threads are stopped all the while. Marks are bits of a table of their own, so that nothing in the heap changes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/object.h"

namespace freehold::heap {

struct ReachabilityCounters {
  std::atomic<uint64_t> searches, abandoned;  // abandoned: no memory for marks
  std::atomic<uint64_t> reclaims;             // searches after which what they found was deleted: released when that is done
  std::atomic<uint64_t> finalizable;          // found before their finalizers had run
  std::atomic<uint64_t> objects, bytes;       // deleted
  std::atomic<uint64_t> longest_stop;         // nanoseconds
};
extern ReachabilityCounters reachability_counters;

// What the layer above does for a search. `stop` stops the threads, calls stopped(argument), and lets them run; false: there is nothing to stop yet. The
// others are called between. A root is what keeps an object alive, on stacks, in thread statics and in handles: `address` may lie within it if `interior`.
// Both objects of a dependent handle: the secondary lives as long as the primary does. Frozen segments: as SweepSupport has them.
struct RootSupport {
  bool (*stop)(void (*stopped)(void* argument), void* argument);
  void (*for_each_root)(void (*fn)(uintptr_t address, bool interior, void* argument), void* argument);
  void (*for_each_dependent)(void (*fn)(uintptr_t primary, uintptr_t secondary, void* argument), void* argument);
  void (*for_each_frozen)(void (*fn)(uint8_t* first, uint8_t* end, void* argument), void* argument);
  // Each weak handle that does not wait for finalizers.
  void (*for_each_weak)(void (*fn)(uint64_t* slot, void* argument), void* argument);
  // After the threads run again: there is something in heap/finalization_queue.h or heap/dead_locks.h.
  void (*run_finalizers)();
  // Around a search that deletes, before the threads are stopped and after they run again. `done`: there was memory for it.
  void (*begins)();
  void (*ends)(bool done);
};
void set_root_support(const RootSupport* support) noexcept;

// Calls found(object, type, size, argument) for every live object that no root reaches, with the threads stopped: it must wait for none of them. What a
// deleted object refers to is reached as long as that one is, and can be read. The caller holds no lock, and is not in cooperative mode. False: there was no
// memory for marks, or nothing to stop yet; nothing was found.
using UnreachableFound = void (*)(core::Object* object, const core::MethodTable* type, size_t size, void* argument);
bool find_unreachable(UnreachableFound found, void* argument) noexcept;

// The same by type, in `entries`, which has room for `capacity` types, a power of two; entries that are not used have no type. kNoRoom: there are too many
// types for it.
struct UnreachableType {
  const core::MethodTable* type;
  uint64_t objects, bytes;
};
static_assert(sizeof(UnreachableType) == 24);
enum class SearchResult : int32_t { kDone = 0, kNotPossible = 1, kNoRoom = 2 };
SearchResult find_unreachable_types(UnreachableType* entries, size_t capacity) noexcept;

// Deletes them all, as the program should have. Objects whose finalizers are still to run stay, with all that they reach: they are given to the finalizer
// thread, weak handles no longer lead to what no root reaches, and the next time they go too. Returns how many went, or -1 where find_unreachable says false.
int64_t reclaim() noexcept;

// Who sees one more sees all that it deleted.
inline uint64_t reclaims() noexcept { return reachability_counters.reclaims.load(std::memory_order_acquire); }

// Until no object that a search has found waits for its finalizer, and no entry of the table of locks for its release, or none has ended for a second. The caller can be stopped.
void wait_for_finalizers() noexcept;

// FREEHOLD_STRESS=reclaim: does so for ever. `round_done` is called after each.
[[noreturn]] void reclaim_for_ever(void (*round_done)(const char* phase)) noexcept;

}  // namespace freehold::heap
