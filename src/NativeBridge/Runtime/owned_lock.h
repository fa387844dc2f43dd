// A lock that knows who holds it: fork in a handler must take it unless the interrupted code of the same thread has it.
// Free = 0, held = the thread's number in the system, with kContended when others wait. Not recursive.
#pragma once

#include <sys/syscall.h>

#include <atomic>
#include <cstdint>

#include "Platform/futex.h"
#include "Platform/system_call.h"

namespace freehold::bridge {

class OwnedLock {
 public:
  void lock() noexcept {
    if (!try_lock()) [[unlikely]]
      lock_slowly();
  }
  bool try_lock() noexcept {
    uint32_t free = 0;
    return state_.compare_exchange_strong(free, self(), std::memory_order_acquire);
  }
  void unlock() noexcept {
    if ((state_.exchange(0, std::memory_order_release) & kContended) != 0) freehold::os::wake_one(state_);
  }
  // True: it was not the calling thread's, and is now.
  bool lock_unless_mine() noexcept {
    if (is_mine()) return false;
    lock();
    return true;
  }
  // For a lock that fork does not take: the child has no other thread, so nobody holds it but the calling one.
  void after_fork_in_child() noexcept {
    if (!is_mine()) state_.store(0, std::memory_order_relaxed);
  }

 private:
  bool is_mine() const noexcept { return (state_.load(std::memory_order_relaxed) & ~kContended) == self(); }
  [[gnu::noinline]] void lock_slowly() noexcept {
    for (int spin = 0; spin < 64; spin++) {
      if (state_.load(std::memory_order_relaxed) == 0 && try_lock()) return;
      __builtin_ia32_pause();
    }
    while (true) {
      uint32_t now = state_.load(std::memory_order_relaxed);
      if (now == 0) {
        // Others may wait, too: who has waited wakes one when it is done.
        if (state_.compare_exchange_weak(now, self() | kContended, std::memory_order_acquire)) return;
      } else if ((now & kContended) != 0 || state_.compare_exchange_weak(now, now | kContended, std::memory_order_relaxed)) {
        freehold::os::wait_on(state_, now | kContended);
      }
    }
  }
  // Of the thread's first use; in the child of a fork still the parent's, whose locks it may hold.
  static uint32_t self() noexcept {
    static thread_local constinit uint32_t number __attribute__((tls_model("initial-exec"))) = 0;
    if (number == 0) number = static_cast<uint32_t>(freehold::os::system_call(SYS_gettid));
    return number;
  }

  static constexpr uint32_t kContended = 1u << 31;
  std::atomic<uint32_t> state_{0};
};

class OwnedLockGuard {
 public:
  explicit OwnedLockGuard(OwnedLock& lock) noexcept : lock_(lock) { lock_.lock(); }
  ~OwnedLockGuard() { lock_.unlock(); }
  OwnedLockGuard(const OwnedLockGuard&) = delete;
  OwnedLockGuard& operator=(const OwnedLockGuard&) = delete;

 private:
  OwnedLock& lock_;
};

}  // namespace freehold::bridge
