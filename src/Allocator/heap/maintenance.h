// The background thread: trims the pool, collapses empty mappings, corrects counters. It touches no managed state and sleeps when nothing dies.
#pragma once

#include <csignal>
#include <cstddef>

namespace freehold::heap {

// Starts the thread. False when the system refuses; the work is then done by those who need it.
bool start_maintenance() noexcept;
// In the child of a fork, which has none of the heap's threads: they are started again when somebody wakes them.
void lose_background_threads() noexcept;

// One round, on the calling thread: `thorough` recounts all pages and gives all spare memory back. No phase hook is called on a thread that allocates. It
// stops others only to find what is pinned, when something waits for that.
void maintain(bool thorough, bool on_allocating_thread) noexcept;

// A thorough one, for all who ask for one at the same moment. Preemptive mode.
void maintain_together() noexcept;

// Gives pooled blocks back until `keep` are left, with the lock of maintenance for each of them: others wait for it with all threads stopped.
void trim_pool_in_steps(size_t keep) noexcept;

}  // namespace freehold::heap
