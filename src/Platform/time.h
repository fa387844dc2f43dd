// Clocks and pauses. Signal-safe; errno stays.
#pragma once

#include <time.h>

#include <cstdint>

#include "Platform/system_call.h"

namespace freehold::os {

inline uint64_t read_clock(clockid_t clock) noexcept {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}
// Of a clock that never goes back.
inline uint64_t nanoseconds() noexcept { return read_clock(CLOCK_MONOTONIC); }

// At least so long; less if a signal comes. Not a cancellation point: a thread that waits for a moving block must not be cancelled there.
inline void pause(uint64_t microseconds) noexcept {
  timespec time = {static_cast<time_t>(microseconds / 1'000'000), static_cast<long>(microseconds % 1'000'000 * 1000)};
  system_call(SYS_nanosleep, argument(&time));
}

}  // namespace freehold::os
