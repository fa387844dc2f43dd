// Entries of the runtime's table of locks whose objects a search has deleted (heap/reachability.h). Only managed code may change the table, and none runs while
// a search deletes: so they wait here for the finalizer thread, or for whoever asked for the search.
#pragma once

#include <cstddef>
#include <cstdint>

namespace freehold::heap {

// The index of an entry; not 0. While the threads are stopped. Without memory the entry is lost, not the object's.
void note_dead_lock(uint32_t index) noexcept;
// One that nobody else gets; 0: there is none. Any thread in cooperative mode: it is not stopped half way.
uint32_t take_dead_lock() noexcept;
// Any thread.
size_t dead_locks() noexcept;

}  // namespace freehold::heap
