#include "core/stress.h"

#include <errno.h>
#include <time.h>
#include <x86intrin.h>

namespace freehold::core {

void delay_at_random(uint32_t one_in) noexcept {
  // How long the last sleep took is as random as anything, and differs from thread to thread.
  uint64_t random = (__rdtsc() ^ knobs.stress.seed) * 0x9e3779b97f4a7c15 >> 32;
  if (random % one_in != 0) return;
  random /= one_in;
  int error = errno;
  uint64_t microseconds = random % knobs.stress.delay;
  timespec time = {static_cast<time_t>(microseconds / 1'000'000), static_cast<long>(microseconds % 1'000'000 * 1000)};
  nanosleep(&time, nullptr);
  errno = error;
}

}  // namespace freehold::core
