// Figures of the marking beside the threads.
#pragma once

#include <atomic>
#include <cstdint>

namespace freehold::heap {

struct ConcurrentReclaimCounters {
  std::atomic<uint64_t> cycles, abandoned;
  std::atomic<uint64_t> stops;         // beginnings and ends, also those after which the threads went on
  std::atomic<uint64_t> longest_work;  // nanoseconds in which the threads stood, without the time until they did
  std::atomic<uint64_t> scanned;       // objects, and parts of large ones
  std::atomic<uint64_t> blocks_again;  // gone through for what had found no room in a list (heap/marking_bounds.h)
  // Of young reclaims, part of the above.
  std::atomic<uint64_t> young_cycles, young_scanned;
  std::atomic<uint64_t> young_cards;  // pages whose fields were their roots
  // Processor time of the first marker, in nanoseconds.
  std::atomic<uint64_t> time, young_time;
};
extern ConcurrentReclaimCounters concurrent_reclaim_counters;

}  // namespace freehold::heap
