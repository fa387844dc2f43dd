// Entries of the runtime's table of locks whose objects were deleted as unreachable (heap/reachability.h). Only managed code may change the table, and a marking runs none:
// so they wait here for the finalizer thread, or for whoever asked for the marking.
#pragma once

#include <cstddef>
#include <cstdint>

namespace freehold::heap {

// The index of an entry; not 0. One thread at a time, under the lock of maintenance. Without memory the entry is lost, not the object's.
void note_dead_lock(uint32_t index) noexcept;
// Before some are noted, with the threads stopped and under the lock of maintenance: memory of those that were taken is used again.
void begin_dead_locks() noexcept;
// One that nobody else gets; 0: there is none. Any thread in cooperative mode: it is not stopped half way.
uint32_t take_dead_lock() noexcept;
// Any thread.
size_t dead_locks() noexcept;

}  // namespace freehold::heap
