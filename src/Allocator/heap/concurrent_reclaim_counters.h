// Figures of the marking beside the threads.
#pragma once

#include <atomic>
#include <cstdint>

namespace freehold::heap {

struct ConcurrentReclaimCounters {
  std::atomic<uint64_t> cycles, abandoned;
  std::atomic<uint64_t> stops;         // beginnings and ends, also those after which the threads went on
  std::atomic<uint64_t> longest_work;  // nanoseconds in which the threads stood, without the time until they did
  std::atomic<uint64_t> blocks_again;  // gone through for what had found no room in a list (heap/marking_bounds.h)
};
extern ConcurrentReclaimCounters concurrent_reclaim_counters;

}  // namespace freehold::heap
