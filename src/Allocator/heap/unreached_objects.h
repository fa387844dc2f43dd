// What is done with single objects that a marking has not reached, whichever marking it was: all of the heap, a graph, a scope.
#pragma once

#include <cstdint>

#include "core/object.h"

namespace freehold::heap {

// Deletes one, and notes the entry of its lock (heap/dead_locks.h). False: it was deleted before, or cannot be. Under the lock of maintenance: several that have found it may come. `has_names`: the program deletes it, and may use it later.
bool delete_unreached(core::Object* object, bool has_names = false) noexcept;

// With the threads stopped: its finalizer is to run, and the object[] `array` names it, if there is one and it has so many elements.
void list_finalizable(uint64_t array, uint64_t index, const core::Object* object) noexcept;

}  // namespace freehold::heap
