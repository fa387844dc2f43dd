// What wakes the background thread (heap/maintenance.h), and what tells it that a look for pins is worth a stop. Leaves of the layer: whoever finds something
// to do says so here, and calls nothing above it.
#pragma once

#include <cstdint>

namespace freehold::heap {

// There is something to do. Cheap when it was said before; any thread, not in a signal handler.
void wake_maintenance() noexcept;
// Frames are wanted, of sparse blocks or of dead ones that may be pinned: do not wait for the next tick. As cheap.
void hurry_maintenance() noexcept;
// Both.
void call_maintenance() noexcept;
// There is no background thread: whoever says next that there is something to do calls `start`, once. While there is one thread.
void start_at_next_wake(bool (*start)()) noexcept;
// For the background thread. Whether somebody said so since forget_work() or forget_hurry(); sleeps until somebody does, or for so many nanoseconds.
bool has_work() noexcept;
void forget_work() noexcept;
void wait_for_work(uint64_t nanoseconds) noexcept;
bool has_hurry() noexcept;
void forget_hurry() noexcept;
void wait_for_hurry(uint64_t nanoseconds) noexcept;

// Something waits for a pin to go, and a look at the stacks would tell more: release_unpinned() is worth its stop of the threads.
bool has_blocks_that_wait_for_pins() noexcept;
// The last handle to pin something in a dead block, or in one whose dead pages wait, is gone. The next look may release it.
void note_unpinned() noexcept;
// A look begins: what is noted from now on is for the next.
void forget_unpinned() noexcept;

}  // namespace freehold::heap
