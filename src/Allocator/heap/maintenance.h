// The background thread: trims the pool, collapses empty mappings, corrects counters. It touches no managed state and sleeps when nothing dies.
#pragma once

#include <csignal>

namespace freehold::heap {

// Starts the thread. False when the system refuses; the work is then done by those who need it.
bool start_maintenance() noexcept;
// Holds the thread that takes it, with FREEHOLD_STRESS=preempt (runtime/preemption.h).
inline constexpr int kPreemptionSignal = SIGSTKFLT;
// In the child of a fork, which has none of the heap's threads: they are started again when somebody wakes them.
void lose_background_threads() noexcept;
// A thread that the runtime does not know, which takes no signals but those of its own faults, and that one. False when the system refuses.
bool start_background_thread(const char* name, void* (*body)(void*)) noexcept;
// There is something to do. Cheap when it was said before; any thread, not in a signal handler.
void wake_maintenance() noexcept;
// Frames are wanted, of sparse blocks or of dead ones that may be pinned: do not wait for the next tick. As cheap.
void hurry_maintenance() noexcept;
// Both.
void call_maintenance() noexcept;

// One round, on the calling thread: `thorough` recounts all pages and gives all spare memory back. No phase hook is called on a thread that allocates. It
// stops others only to find what is pinned, when something waits for that.
void maintain(bool thorough, bool on_allocating_thread) noexcept;

// Looks for pins, with one stop of the threads, and releases what none holds. Any thread, preemptive mode.
void release_what_no_thread_pins() noexcept;

// While one exists no phase of maintenance runs. For the verifier, once the threads stand still, and for whoever changes blocks outside cooperative
// mode. Its owner must not wait for a suspension.
class MaintenancePause {
 public:
  MaintenancePause() noexcept;
  ~MaintenancePause();
  MaintenancePause(const MaintenancePause&) = delete;
  MaintenancePause& operator=(const MaintenancePause&) = delete;
};

// Called after each phase with its name, on the thread that did it; the layer above verifies the heap then (FREEHOLD_VERIFY).
using PhaseHook = void (*)(const char* phase);
void set_phase_hook(PhaseHook hook) noexcept;

void reset_maintenance() noexcept;  // tests only

}  // namespace freehold::heap
