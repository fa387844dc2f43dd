// A manual-reset event on a futex: who waits sleeps in the kernel. It allocates nothing and may be set from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <ctime>

#include "Platform/futex.h"
#include "Platform/time.h"

namespace freehold::runtime {

class Event {
 public:
  constexpr explicit Event(bool set) noexcept : state_(set ? 1 : 0) {}

  void set() noexcept {
    if (state_.exchange(1, std::memory_order_release) == 0) os::wake_all(state_);
  }
  void reset() noexcept { state_.store(0, std::memory_order_relaxed); }
  bool is_set() const noexcept { return state_.load(std::memory_order_relaxed) != 0; }

  // False when `milliseconds` passed first; negative waits for ever.
  bool wait(int64_t milliseconds = -1) noexcept {
    int64_t end = now() + milliseconds;
    while (state_.load(std::memory_order_acquire) == 0) {
      if (milliseconds < 0) {
        os::wait_on(state_, 0);
        continue;
      }
      int64_t left = end - now();
      if (left <= 0) return false;
      timespec time = {static_cast<time_t>(left / 1000), static_cast<long>(left % 1000) * 1000000};
      os::wait_on(state_, 0, &time);
    }
    return true;
  }

  // Monotonic milliseconds.
  static int64_t now() noexcept { return static_cast<int64_t>(os::nanoseconds() / 1'000'000); }

 private:
  std::atomic<uint32_t> state_;  // written by set and reset, read by all
};
static_assert(sizeof(std::atomic<uint32_t>) == 4);

// That something has changed, for those who wait for a condition: they look at it between seen() and wait(), and miss no change.
class Changes {
 public:
  uint32_t seen() const noexcept { return count_.load(std::memory_order_acquire); }
  void announce() noexcept {
    count_.fetch_add(1, std::memory_order_release);
    os::wake_all(count_);
  }
  // Until there are others than `seen`, `milliseconds` have passed (negative: for ever), or for no reason.
  void wait(uint32_t seen, int64_t milliseconds) noexcept {
    timespec time = {static_cast<time_t>(milliseconds / 1000), static_cast<long>(milliseconds % 1000) * 1000000};
    os::wait_on(count_, seen, milliseconds < 0 ? nullptr : &time);
  }

 private:
  std::atomic<uint32_t> count_{0};
};

}  // namespace freehold::runtime
