// FREEHOLD_STRESS=preempt: threads are preempted at random instructions.
#pragma once

#include "core/knobs.h"

namespace freehold::runtime {

// Installs the handler and starts the thread that picks the threads to be preempted. False when the system refuses. Once, before managed code runs.
bool start_preemption() noexcept;

// For a thread that has been through a stop of the threads, and that another stop may find here: preempts it once more, so that what the stop was made for is
// done when it goes on.
void preempt_at_random() noexcept;
inline void preempt_after_stop() noexcept {
  if (core::knobs.stress.preempt != 0) [[unlikely]]
    preempt_at_random();
}

}  // namespace freehold::runtime
