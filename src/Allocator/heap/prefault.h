// Prefaulting: while the heap grows, a background thread sees to it that the memory of the next blocks is there before a thread needs it. The first touch
// of 2 MB takes the kernel a third of a millisecond, to clear them, and several where a virtual machine's host has to provide them.
//
// What nobody took goes back to the system. A thread that allocates faster than memory comes touches some itself.
#pragma once

#include <cstddef>

namespace freehold::heap {

// A thread took a block of fresh memory: others may follow. Any thread.
void note_growth() noexcept;

// Starts the background thread once it is worth it. The maintenance thread only.
void start_prefaulting() noexcept;

// How many blocks are made ready, for so many live ones: none in small heaps.
size_t prefaulted_at_most(size_t live) noexcept;
// How many are to wait now: none in a sparse heap either, which memory that comes easily would let grow faster than it is promoted.
size_t blocks_to_prefault() noexcept;

}  // namespace freehold::heap
