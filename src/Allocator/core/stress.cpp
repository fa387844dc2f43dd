#include "core/stress.h"

#include <errno.h>

#include <atomic>

#include "os/kernel.h"

namespace freehold::core {

uint32_t next_random() noexcept {
  static std::atomic<uint64_t> threads{0};
  [[gnu::tls_model("initial-exec")]] static thread_local constinit uint64_t state = 0;
  if (state == 0) state = (knobs.stress.seed + (threads.fetch_add(1, std::memory_order_relaxed) << 32)) * 0x9e3779b97f4a7c15 | 1;
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  return static_cast<uint32_t>(state * 0x2545f4914f6cdd1d >> 32);
}

void delay_at_random(uint32_t one_in) noexcept {
  uint32_t random = next_random();
  if (random % one_in != 0) return;
  random /= one_in;
  int error = errno;
  os::pause(random % knobs.stress.delay);
  errno = error;
}

}  // namespace freehold::core
