#include "heap/pacing.h"

#include <atomic>

#include "core/arena.h"
#include "core/module_state.h"
#include "heap/accounting.h"
#include "heap/promotion_counters.h"
#include "heap/promotion_policy.h"
#include "heap/thread_heap.h"
#include "platform/os.h"

namespace freehold::heap {

namespace {

// Hint for other threads, relaxed: blocks that the round under way has chosen and not tried yet; 1 during a sweep that a round waits for.
struct State {
  std::atomic<size_t> blocks_to_come{0};
};
constinit State state;
FREEHOLD_MODULE_STATE(state);

bool are_frames_coming() noexcept { return state.blocks_to_come.load(std::memory_order_relaxed) != 0; }
// One beside those that promotion itself needs: what is left of blocks that were half full goes somewhere too.
bool are_frames_there() noexcept { return block_counters.pooled.load(std::memory_order_relaxed) > 2; }

}  // namespace

void wait_for_frames() noexcept {
  constexpr uint64_t kNanosecondsAtMost = 300'000, kMicrosecondsBetween = 50;
  thread_heap.paced_windows = 0;
  if (are_frames_there() || !are_frames_coming() || !is_over_budget()) return;
  count(promotion_counters.frame_waits, 1);
  for (uint64_t start = os::nanoseconds(); !are_frames_there() && are_frames_coming() && os::nanoseconds() - start < kNanosecondsAtMost;)
    os::pause(kMicrosecondsBetween);
  if (!are_frames_there()) thread_heap.paced_windows = core::kWindowsPerBlock;
}

void pace() noexcept {
  constexpr uint64_t kMicroseconds = 100;
  thread_heap.paced_windows--;
  if (are_frames_there() || !are_frames_coming()) {
    thread_heap.paced_windows = 0;
    return;
  }
  os::pause(kMicroseconds);
}

void note_blocks_to_come(size_t blocks) noexcept { state.blocks_to_come.store(blocks, std::memory_order_relaxed); }

}  // namespace freehold::heap
