// A manual-reset event on a futex: who waits sleeps in the kernel. It allocates nothing and may be set from any thread.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <atomic>
#include <climits>
#include <cstdint>
#include <ctime>

namespace freehold::runtime {

class Event {
 public:
  constexpr explicit Event(bool set) noexcept : state_(set ? 1 : 0) {}

  void set() noexcept {
    if (state_.exchange(1, std::memory_order_release) == 0) futex(FUTEX_WAKE_PRIVATE, INT_MAX, nullptr);
  }
  void reset() noexcept { state_.store(0, std::memory_order_relaxed); }

  // False when `milliseconds` passed first; negative waits for ever.
  bool wait(int64_t milliseconds = -1) noexcept {
    int64_t end = now() + milliseconds;
    while (state_.load(std::memory_order_acquire) == 0) {
      if (milliseconds < 0) {
        futex(FUTEX_WAIT_PRIVATE, 0, nullptr);
        continue;
      }
      int64_t left = end - now();
      if (left <= 0) return false;
      timespec time = {static_cast<time_t>(left / 1000), static_cast<long>(left % 1000) * 1000000};
      futex(FUTEX_WAIT_PRIVATE, 0, &time);
    }
    return true;
  }

  // Monotonic milliseconds.
  static int64_t now() noexcept {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<int64_t>(time.tv_sec) * 1000 + time.tv_nsec / 1000000;
  }

 private:
  void futex(int operation, uint32_t value, const timespec* timeout) noexcept { syscall(SYS_futex, &state_, operation, value, timeout, nullptr, 0); }

  std::atomic<uint32_t> state_;  // written by set and reset, read by all
};
static_assert(sizeof(std::atomic<uint32_t>) == 4);

// That something has changed, for those who wait for a condition: they look at it between seen() and wait(), and miss no change.
class Changes {
 public:
  uint32_t seen() const noexcept { return count_.load(std::memory_order_acquire); }
  void announce() noexcept {
    count_.fetch_add(1, std::memory_order_release);
    syscall(SYS_futex, &count_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
  }
  // Until there are others than `seen`, `milliseconds` have passed (negative: for ever), or for no reason.
  void wait(uint32_t seen, int64_t milliseconds) noexcept {
    timespec time = {static_cast<time_t>(milliseconds / 1000), static_cast<long>(milliseconds % 1000) * 1000000};
    syscall(SYS_futex, &count_, FUTEX_WAIT_PRIVATE, seen, milliseconds < 0 ? nullptr : &time, nullptr, 0);
  }

 private:
  std::atomic<uint32_t> count_{0};
};

}  // namespace freehold::runtime
