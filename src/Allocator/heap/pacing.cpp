#include "heap/pacing.h"

#include <algorithm>
#include <atomic>

#include "core/arena.h"
#include "core/module_state.h"
#include "heap/accounting.h"
#include "heap/promotion_counters.h"
#include "heap/promotion_policy.h"
#include "heap/reclaim_policy.h"
#include "heap/thread_heap.h"
#include "os/kernel.h"

namespace freehold::heap {

namespace {

// Hint for other threads, relaxed: blocks that the round under way has chosen and not tried yet; 1 during a remap that a round waits for.
struct State {
  std::atomic<size_t> blocks_to_come{0};
};
constinit State state;
FREEHOLD_MODULE_STATE(state);

bool is_promoting() noexcept { return state.blocks_to_come.load(std::memory_order_relaxed) != 0; }
bool are_frames_coming() noexcept { return is_promoting() || is_reclaiming(); }
bool is_behind() noexcept { return (is_promoting() && is_over_budget()) || is_reclaim_behind(); }
// One beside those that promotion itself needs: what is left of blocks that were half full goes somewhere too.
bool are_frames_there() noexcept { return block_counters.pooled.load(std::memory_order_relaxed) > 2; }

}  // namespace

void wait_for_frames() noexcept {
  constexpr uint64_t kNanosecondsAtMost = 300'000, kMicrosecondsBetween = 50;
  thread_heap.paced_windows = 0;
  if (are_frames_there() || !are_frames_coming() || !is_behind()) return;
  count(promotion_counters.frame_waits, 1);
  for (uint64_t start = os::nanoseconds(); !are_frames_there() && are_frames_coming() && os::nanoseconds() - start < kNanosecondsAtMost;)
    os::pause(kMicrosecondsBetween);
  if (!are_frames_there()) thread_heap.paced_windows = core::kWindowsPerBlock;
}

void pace() noexcept {
  constexpr uint64_t kMicroseconds = 100, kMicrosecondsFarBehind = 300;
  thread_heap.paced_windows--;
  if (are_frames_there() || !are_frames_coming()) {
    thread_heap.paced_windows = 0;
    return;
  }
  os::pause(is_reclaim_far_behind() ? kMicrosecondsFarBehind : kMicroseconds);
}

void pace_large(size_t size) noexcept {
  constexpr uint64_t kMicrosecondsAtMost = 300, kBytesOfOne = 512, kBytesOfOneFarBehind = 128, kSlicesAtMost = 10;
  if (!is_reclaiming() || are_frames_there() || thread_heap.emergency != 0 || !is_reclaim_behind()) return;
  count(promotion_counters.frame_waits, 1);
  if (!is_reclaim_far_behind()) return os::pause(std::min<uint64_t>(size / kBytesOfOne, kMicrosecondsAtMost));
  uint64_t left = std::min(size / kBytesOfOneFarBehind, kSlicesAtMost * kMicrosecondsAtMost);
  for (; left != 0 && is_reclaiming(); left -= std::min(left, kMicrosecondsAtMost)) os::pause(std::min(left, kMicrosecondsAtMost));
}

void note_blocks_to_come(size_t blocks) noexcept { state.blocks_to_come.store(blocks, std::memory_order_relaxed); }

}  // namespace freehold::heap
