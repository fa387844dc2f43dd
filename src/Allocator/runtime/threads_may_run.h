// Set while no suspension is in progress: threads that meet one wait for it.
#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/event.h"

namespace freehold::runtime {

// The runtime resets it before a stop and sets it behind; in the child of a fork nobody does, so the fork sets it.
inline constinit Event threads_may_run{true};

// Who waits for the end of a stop, or has not gone on yet, by the stop's number. Threads that stop the others again and again could keep one that must first wake up from ever running, so a stop begins when all
// have gone on that stood in the stop before the last one: they have missed one interval already. Counts, no order with other memory: relaxed.
class StandingThreads {
 public:
  void begin_stop() noexcept { last_.store(last_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed); }

  void wait() noexcept {
    std::atomic<uint32_t>& standing = standing_[last_.load(std::memory_order_relaxed) % kStops];
    standing.fetch_add(1, std::memory_order_relaxed);
    threads_may_run.wait();
    standing.fetch_sub(1, std::memory_order_relaxed);
  }

  bool missed_interval() const noexcept {
    uint32_t last = last_.load(std::memory_order_relaxed);
    return standing_[(last - 1) % kStops].load(std::memory_order_relaxed) != 0 || standing_[(last - 2) % kStops].load(std::memory_order_relaxed) != 0;
  }

  // Whether a thread stands in the last stop.
  bool stands() const noexcept { return standing_[last_.load(std::memory_order_relaxed) % kStops].load(std::memory_order_relaxed) != 0; }

  // In the child of a fork.
  void forget() noexcept {
    for (std::atomic<uint32_t>& standing : standing_) standing.store(0, std::memory_order_relaxed);
  }

 private:
  static constexpr uint32_t kStops = 4;
  std::atomic<uint32_t> last_{0};  // written by one thread at a time, who has the runtime's lock of threads
  std::atomic<uint32_t> standing_[kStops] = {};
};
inline constinit StandingThreads standing_threads;

}  // namespace freehold::runtime
