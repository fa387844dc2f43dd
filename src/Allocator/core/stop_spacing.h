// How far apart stops are that nobody waits for: those of the heap's own threads. However long a stop takes, on a busy machine or beside threads that are slow to stop, the threads then run
// for several times as long.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "core/knobs.h"
#include "os/kernel.h"

namespace freehold::core {

class StopSpacing {
 public:
  static constexpr uint64_t kTimes = 4, kAtMost = 250'000'000;  // nanoseconds
  static constexpr int kLooks = 3;

  // A stop ends, whoever made it. By the thread that has made it, while the others stand; both are hints for readers, who may see one old and one new.
  void note(uint64_t asked, uint64_t resumed) noexcept {
    took_.store(resumed > asked ? resumed - asked : 0, std::memory_order_relaxed);
    resumed_.store(resumed, std::memory_order_relaxed);
  }

  // Nanoseconds from `now` on until the threads have run so many times as long as they stood.
  uint64_t left(uint64_t now, uint64_t times) const noexcept {
    uint64_t between = std::min(times * took_.load(std::memory_order_relaxed), kAtMost), since = now - resumed_.load(std::memory_order_relaxed);
    // A stop that has ended since `now` was read is younger than that.
    return since > ~uint64_t{0} / 2 ? between : since < between ? between - since : 0;
  }

  // Others stop the threads meanwhile, for themselves: not for ever. Nor while something is urgent: the thread that waits here may be the one that has to do it.
  void wait(uint64_t times) const noexcept {
    for (int looks = 0; looks < kLooks; looks++) {
      uint64_t end = os::nanoseconds() + left(os::nanoseconds(), times), now;
      if (end <= os::nanoseconds()) return;
      while ((now = os::nanoseconds()) < end) {
        if (auto urgent = urgent_.load(std::memory_order_relaxed); urgent != nullptr && urgent()) return;
        os::pause(std::min((end - now) / 1000 + 1, kMicrosecondsOfSlice));
      }
    }
  }

  // Asked every few milliseconds of a wait, by the thread that waits. Null: nothing ever is.
  void set_urgent(bool (*urgent)() noexcept) noexcept { urgent_.store(urgent, std::memory_order_relaxed); }

 private:
  static constexpr uint64_t kMicrosecondsOfSlice = 5'000;

  std::atomic<uint64_t> took_{0}, resumed_{0};
  std::atomic<bool (*)() noexcept> urgent_{nullptr};
};
inline constinit StopSpacing stop_spacing;

// Of the calling thread: whether its stops keep that distance.
[[gnu::tls_model("initial-exec")]] inline thread_local constinit bool stops_are_spaced = false;

// While one exists they do not: its thread has a lock that others wait for.
class UnspacedStops {
 public:
  UnspacedStops() noexcept : before_(stops_are_spaced) { stops_are_spaced = false; }
  ~UnspacedStops() { stops_are_spaced = before_; }
  UnspacedStops(const UnspacedStops&) = delete;
  UnspacedStops& operator=(const UnspacedStops&) = delete;

 private:
  const bool before_;
};

// Before each stop. Who takes a lock first that others want, or measures the stop, calls it earlier: a second call finds that the time has passed.
inline void leave_threads_their_time() noexcept {
  // A verification takes longer than all that it verifies.
  if (stops_are_spaced) stop_spacing.wait(knobs.verify ? 1 : StopSpacing::kTimes);
}

}  // namespace freehold::core
