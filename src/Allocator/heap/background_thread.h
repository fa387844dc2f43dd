// Threads of the heap itself.
#pragma once

#include <csignal>

namespace freehold::heap {

// Holds the thread that takes it, with FREEHOLD_STRESS=preempt (runtime/preemption.h).
inline constexpr int kPreemptionSignal = SIGSTKFLT;
// A thread that the runtime does not know, which takes no signals but those of its own faults, and that one. Its stops of the others keep a distance (core/stop_spacing.h). False when the system refuses.
bool start_background_thread(const char* name, void* (*body)(void*)) noexcept;

}  // namespace freehold::heap
