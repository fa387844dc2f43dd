// How many blocks are prefaulted (heap/prefault.h), and what tells the prefaulting thread that the heap grows.
#pragma once

#include <time.h>

#include <cstddef>
#include <cstdint>

namespace freehold::heap {

// A thread took a block of fresh memory: others may follow. Any thread.
void note_growth() noexcept;

// How many blocks are made ready, for so many live ones: none in small heaps.
size_t prefaulted_at_most(size_t live) noexcept;
// How many are to wait now: none in a sparse heap either, which memory that comes easily would let grow faster than it is promoted.
size_t blocks_to_prefault() noexcept;

// For the prefaulting thread. How many blocks of fresh memory were taken, ever; sleeps until another one was than those seen. False: none for so long.
uint32_t growth_seen() noexcept;
bool wait_for_growth(uint32_t seen, const timespec* at_most) noexcept;
// Whether the thread runs. Written by the maintenance thread only.
bool is_prefaulting() noexcept;
void set_prefaulting(bool runs) noexcept;
// In the child of a fork, where it does not run.
void forget_prefaulting() noexcept;

}  // namespace freehold::heap
