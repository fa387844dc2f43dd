// Pacing: threads that outrun promotion, or a marking, wait for it, many times a little.
#pragma once

#include <cstddef>

namespace freehold::heap {

// Before a thread takes another block to allocate from. While a round has blocks to free and the heap holds far more than lives, promotion is behind, and
// a marking is when what lives has grown by half as much again as it began for: the
// thread then waits for frames, a third of a millisecond or so. If there are none it has to take new memory, and is paced (thread_heap.paced_windows) while it
// fills it: many short waits, instead of one that could be felt. Else it returns at once.
void wait_for_frames() noexcept;
// A paced thread goes on to the next window of its block: it sleeps a little, unless there are frames by now. The caller holds no lock. A stop of the threads that is
// wanted ends each of these waits.
void pace() noexcept;

// Before an object with pages of its own is allocated: the same, once.
void pace_large(size_t size) noexcept;

// Told by the round under way, or a remap that a round waits for: so many blocks may still give frames.
void note_blocks_to_come(size_t blocks) noexcept;

}  // namespace freehold::heap
