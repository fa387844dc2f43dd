// Deletion of all that only one object leads to, itself included: Heap.DeleteGraph. The marking is heap/reachability.h's.
#pragma once

#include <cstddef>
#include <cstdint>

namespace freehold::heap {

// As System.Heap/GraphDeletion.cs has them.
struct GraphDeletion {
  uint64_t objects, bytes;  // that were deleted
  uint64_t finalizable;     // found before their finalizers had run
  uint64_t root_has_lock;   // the root is left to the caller, who deletes it as Heap.Delete does: another thread, which refers to it, may be in its lock
};
enum class GraphResult : int32_t { kDeleted = 0, kNotPossible = 1, kFinalizable = 2, kGone = 3, kNotInHeap = 4 };

// Deletes the object at *root and what only it leads to, unless some of that has a finalizer still to run. Then it deletes nothing, and stores these objects in
// the array at *finalizable, as many as there is room for: their finalizers are the caller's to run before it comes again. Both places are kept current by moves.
// kGone: the root is deleted. kNotInHeap: it is the runtime's. kNotPossible: no memory for marks. Any thread in preemptive mode that holds no lock.
GraphResult delete_graph(const uint64_t* root, const uint64_t* finalizable, GraphDeletion* result) noexcept;

}  // namespace freehold::heap
