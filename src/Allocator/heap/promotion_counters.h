// What promotion has done, for the statistics.
#pragma once

#include <atomic>
#include <cstdint>

namespace freehold::heap {

struct PromotionCounters {
  std::atomic<uint64_t> rounds, blocks, objects, bytes;
  std::atomic<uint64_t> short_rounds, cards;               // that looked at marked pages only, and at how many
  std::atomic<uint64_t> cards_again;                       // pages that were looked at since something was stored there during a round
  std::atomic<uint64_t> collected;                         // fields that led into chosen blocks
  std::atomic<uint64_t> patched;                           // of these, and of older stale references met on the way, those that a walk repaired
  std::atomic<uint64_t> refused;                           // blocks that were pinned, or not complete
  std::atomic<uint64_t> frame_waits;                       // of wait_for_frames
  std::atomic<uint64_t> pauses;                            // short ones, of which these and all other waits of pacing consist
  std::atomic<uint64_t> longest_evacuation;                // nanoseconds
  std::atomic<uint64_t> walk_time, copy_time, patch_time;  // nanoseconds of processor time; copying includes protecting and forwarding
};
extern PromotionCounters promotion_counters;

// Relaxed: the figures are read one by one.
inline void count(std::atomic<uint64_t>& counter, uint64_t more) noexcept { counter.fetch_add(more, std::memory_order_relaxed); }

}  // namespace freehold::heap
