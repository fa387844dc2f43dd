// How long the threads took to stand still, and which one held the longest stop up. Relaxed atomics: one thread at a time stops the others and writes, the
// statistics read, and may see a place of one stop beside the time of another.
#pragma once

#include <atomic>
#include <cstdint>

namespace freehold::core {

struct StopCounters {
  std::atomic<uint64_t> stops;
  std::atomic<uint64_t> longest;  // nanoseconds from the request until the last thread stood; the work of a stop is not in it
  std::atomic<uint64_t> place;    // where managed code of the thread that came last stood, or 0: nobody had to be waited for
  std::atomic<uint64_t> name[2];  // its name, 15 characters and a zero as the kernel keeps them
};
inline constinit StopCounters stop_counters = {};

}  // namespace freehold::core
