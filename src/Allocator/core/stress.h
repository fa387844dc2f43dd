// FREEHOLD_STRESS=delay: time between two steps of what several threads do at once, so that others get in between.
#pragma once

#include "core/knobs.h"

namespace freehold::core {

// xorshift64*. Each thread has a sequence of its own, from the seed and the order in which threads came here. Signal-safe: a handler may take a step of it in the
// middle of another step, then two are the same.
uint32_t next_random() noexcept;

// Sleeps up to knobs.stress.delay microseconds, one time in so many. Signal-safe, keeps errno.
void delay_at_random(uint32_t one_in) noexcept;

// `one_in`: more where programs come by all the time.
inline void stress_step(uint32_t one_in = 1) noexcept {
  if (knobs.stress.delay != 0) [[unlikely]]
    delay_at_random(one_in);
}

}  // namespace freehold::core
