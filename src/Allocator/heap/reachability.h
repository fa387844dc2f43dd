// What no root reaches any more: objects that the program forgot to delete. Found by marking, as a collector does (Jones, Hosking and Moss, The Garbage
// Collection Handbook, chapter 2), but only where something asks for it: the program, an allocation that would fail, FREEHOLD_RECLAIM_GROWTH, FREEHOLD_STRESS=reclaim.
//
// Here the threads are stopped all the while; heap/concurrent_reclaim.h does the same beside them, for reclaim(). Marks are bits of a table of their own, so that nothing in the heap changes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/object.h"
#include "heap/reclaim_scope.h"
#include "heap/root_support.h"

namespace freehold::heap {

void set_root_support(const RootSupport* support) noexcept;
const RootSupport* root_support() noexcept;

// Calls found(object, type, size, argument) for every live object that no root reaches, with the threads stopped: it must wait for none of them. What a
// deleted object refers to is reached as long as that one is, and can be read. The caller holds no lock, and is not in cooperative mode. False: there was no
// memory for marks, or nothing to stop yet; nothing was found.
using UnreachableFound = void (*)(core::Object* object, const core::MethodTable* type, size_t size, void* argument);
bool find_unreachable(UnreachableFound found, void* argument) noexcept;
// The same, and then, with the threads still stopped, asks `last` to look at objects of its own.
class Marking;
bool is_reached(const Marking& marking, const core::Object* object) noexcept;
bool find_unreachable(UnreachableFound found, void (*last)(const Marking& marking, void* argument), void* argument) noexcept;
// Of a marking that is complete: calls found() for every live object that a root reaches.
using ReachedFound = void (*)(core::Object* object, const core::MethodTable* type, size_t size, void* argument);
void for_each_reached(const Marking& marking, ReachedFound found, void* argument) noexcept;
// From now on looked(marking) is called in each reclaim that stops the threads, before what it found goes; what finalizers are to run for, and reach, counts as reached. Null: no more.
void set_marking_look(void (*looked)(const Marking& marking) noexcept) noexcept;

// Calls found() for every live object, reached or not: a walk without marks. The caller, and false: as above.
bool find_live(UnreachableFound found, void* argument) noexcept;

// The object at *root, and all that only it leads to: what roots reach when it is passed over is not in it, what no root reached before is, if it leads there.
// Calls found(objects, count, argument) once, with the threads stopped: the root is the first, and deleted ones may be among the others; count 0: the root is
// deleted. Short weak handles to them are cleared. `root` is a place that moves keep current. The caller, and false: as above.
using GraphFound = void (*)(core::Object* const* objects, size_t count, void* argument);
bool find_graph(const uint64_t* root, GraphFound found, void* argument) noexcept;

// Calls found(object, argument) for every live object that roots reach; none if there is no memory for marks. With the threads stopped, and no phase nor round under way: for the verifier.
void for_each_reached(void (*found)(core::Object* object, void* argument) noexcept, void* argument) noexcept;

// The same as find_unreachable by type, in `entries`, which has room for `capacity` types, a power of two; entries that are not used have no type. kNoRoom: there are too many
// types for it.
struct UnreachableType {
  const core::MethodTable* type;
  uint64_t objects, bytes;
};
static_assert(sizeof(UnreachableType) == 24);
enum class MarkingResult : int32_t { kDone = 0, kNotPossible = 1, kNoRoom = 2 };
MarkingResult find_unreachable_types(UnreachableType* entries, size_t capacity) noexcept;

// Deletes them all, as the program should have. Objects whose finalizers are still to run stay, with all that they reach: they are given to the finalizer
// thread, weak handles no longer lead to what no root reaches, and the next time they go too. Returns how many went, or -1 where find_unreachable says false.
// kYoung: of the objects that are younger than the last one; where that cannot be, of all.
int64_t reclaim(ReclaimScope scope = ReclaimScope::kAll) noexcept;
bool can_reclaim_young() noexcept;

// Of all objects. Who sees one more sees all that it deleted.
inline uint64_t reclaims() noexcept { return reachability_counters.reclaims.load(std::memory_order_acquire); }

// Until no object that a marking has found waits for its finalizer, and no entry of the table of locks for its release, or none has ended for a second. The caller can be stopped.
void wait_for_finalizers() noexcept;  // not on the finalizer thread

// FREEHOLD_STRESS=reclaim: does so for ever. `round_done` is called after each.
[[noreturn]] void reclaim_for_ever(void (*round_done)(const char* phase)) noexcept;

}  // namespace freehold::heap
