// FREEHOLD_STRESS=delay: time between two steps of what several threads do at once, so that others get in between.
#pragma once

#include "core/knobs.h"

namespace freehold::core {

// Sleeps up to knobs.stress.delay microseconds. Signal-safe, keeps errno.
void delay_at_random() noexcept;

inline void stress_step() noexcept {
  if (knobs.stress.delay != 0) [[unlikely]] delay_at_random();
}

}  // namespace freehold::core
