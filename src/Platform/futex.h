// Waiting for a word to change (futex), within this process. Signal-safe; errno stays.
#pragma once

#include <linux/futex.h>
#include <time.h>

#include <atomic>
#include <climits>
#include <cstdint>

#include "Platform/system_call.h"

namespace freehold::os {

// Until somebody wakes, a signal comes or the time has passed, unless the word is another already. False: the time has passed.
inline bool wait_on(const std::atomic<uint32_t>& word, uint32_t value, const timespec* at_most = nullptr) noexcept {
  constexpr long kTimedOut = -110;
  return system_call(SYS_futex, argument(&word), FUTEX_WAIT_PRIVATE, value, argument(at_most)) != kTimedOut;
}
inline void wake_one(const std::atomic<uint32_t>& word) noexcept { system_call(SYS_futex, argument(&word), FUTEX_WAKE_PRIVATE, 1); }
inline void wake_all(const std::atomic<uint32_t>& word) noexcept { system_call(SYS_futex, argument(&word), FUTEX_WAKE_PRIVATE, INT_MAX); }

// The same for who waits with a bit of `bits`: a wake of other bits leaves it asleep.
inline void wait_with_bit(const std::atomic<uint32_t>& word, uint32_t value, uint32_t bits) noexcept {
  system_call(SYS_futex, argument(&word), FUTEX_WAIT_BITSET_PRIVATE, value, 0, 0, bits);
}
inline void wake_with_bit(const std::atomic<uint32_t>& word, uint32_t bits) noexcept {
  system_call(SYS_futex, argument(&word), FUTEX_WAKE_BITSET_PRIVATE, INT_MAX, 0, 0, bits);
}

}  // namespace freehold::os
