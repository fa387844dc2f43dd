// A lock for short critical sections that must not call libc (whose locks a faulting thread may hold) and costs four bytes.
// Free = 0, held = 1, held with waiters = 2 (Drepper, "Futexes are tricky", mutex 2). Not recursive; never taken in a signal handler.
#pragma once

#include <atomic>
#include <cstdint>

#include "Platform/futex.h"

namespace freehold::os {

class Lock {
 public:
  void lock() noexcept {
    if (!try_lock()) [[unlikely]]
      lock_slowly();
  }

  bool try_lock() noexcept {
    uint32_t free = kFree;
    return state_.compare_exchange_strong(free, kHeld, std::memory_order_acquire);
  }

  void unlock() noexcept {
    if (state_.exchange(kFree, std::memory_order_release) == kContended) wake_one(state_);
  }

 private:
  [[gnu::noinline]] void lock_slowly() noexcept {
    for (int spin = 0; spin < 64; spin++) {
      if (state_.load(std::memory_order_relaxed) == kFree && try_lock()) return;
      __builtin_ia32_pause();
    }
    while (state_.exchange(kContended, std::memory_order_acquire) != kFree) wait_on(state_, kContended);
  }

  static constexpr uint32_t kFree = 0, kHeld = 1, kContended = 2;
  std::atomic<uint32_t> state_{kFree};
};

template <typename Lock>
class LockGuard {
 public:
  explicit LockGuard(Lock& lock) noexcept : lock_(lock) { lock_.lock(); }
  ~LockGuard() { lock_.unlock(); }
  LockGuard(const LockGuard&) = delete;
  LockGuard& operator=(const LockGuard&) = delete;

 private:
  Lock& lock_;
};

}  // namespace freehold::os
