// When threads are stopped to find out what is still pinned, and what is released then.
#pragma once

#include <cstddef>

namespace freehold::heap {

// In the background only runs of 64 KB or more lose their memory: a shorter one costs more (a huge page splits) than it gives.
inline constexpr size_t kBackgroundRun = 16;

// Looks for pins, with one stop of the threads, and releases what nothing pins. Any thread, preemptive mode.
void release_what_no_thread_pins() noexcept;
// The same as a part of maintenance. `thorough`: single pages too. The caller holds no lock.
void release_unpinned_blocks(bool thorough, bool on_allocating_thread) noexcept;
// Whether it is time for such a stop: rarely, while stops find nothing.
bool may_stop_for_pins() noexcept;
// Whether there was one just now: rounds follow each other without a pause, while allocations are in a hurry.
bool has_just_looked_for_pins() noexcept;
// A stop costs the threads some ten to a hundred microseconds: sleeps as long as there should be between two, however many blocks wait. False: a promotion is due before that.
bool wait_between_stops() noexcept;

}  // namespace freehold::heap
