// A lock for short critical sections that must not call libc (whose locks a faulting thread may hold) and costs four bytes.
// Free = 0, held = 1, held with waiters = 2 (Drepper, "Futexes are tricky", mutex 2). Not recursive; never taken in a signal handler.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

namespace freehold::os {

class Lock {
 public:
  void lock() noexcept {
    uint32_t free = kFree;
    if (state_.compare_exchange_strong(free, kHeld, std::memory_order_acquire)) return;
    for (int spin = 0; spin < 64; spin++) {
      free = kFree;
      if (state_.load(std::memory_order_relaxed) == kFree && state_.compare_exchange_strong(free, kHeld, std::memory_order_acquire)) return;
      __builtin_ia32_pause();
    }
    while (state_.exchange(kContended, std::memory_order_acquire) != kFree) syscall(SYS_futex, &state_, FUTEX_WAIT_PRIVATE, kContended, nullptr, nullptr, 0);
  }

  bool try_lock() noexcept {
    uint32_t free = kFree;
    return state_.compare_exchange_strong(free, kHeld, std::memory_order_acquire);
  }

  void unlock() noexcept {
    if (state_.exchange(kFree, std::memory_order_release) == kContended) syscall(SYS_futex, &state_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  }

 private:
  static constexpr uint32_t kFree = 0, kHeld = 1, kContended = 2;
  std::atomic<uint32_t> state_{kFree};
};

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
