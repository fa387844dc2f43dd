#include "heap/pacing.h"

#include <algorithm>
#include <atomic>

#include "core/arena.h"
#include "core/module_state.h"
#include "core/stop_request.h"
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
// One beside those that promotion itself needs: what is left of blocks that were half full goes somewhere too. Where a reclaim has been outrun, or a round by far, frames that wait are no reason to
// go on at full speed: they would be filled with what nobody needs, and the heap would grow until the background thread has as much to do as the program.
bool are_frames_there() noexcept {
  return block_counters.pooled.load(std::memory_order_relaxed) > 2 && !is_reclaim_behind() && !(is_promoting() && is_far_over_budget());
}

// A pause of the kernel takes some 50 us longer.
constexpr uint64_t kMicrosecondsOfSlice = 200;

// The thread is in cooperative mode: a stop that is wanted ends the wait. So does what the caller waits for.
template <typename Condition>
void pause_while(Condition waits, uint64_t microseconds) noexcept {
  uint64_t end = os::nanoseconds() + microseconds * 1000;
  for (uint64_t now = 0; (now = os::nanoseconds()) < end && waits() && !core::is_stop_wanted();) {
    count(promotion_counters.pauses, 1);
    os::pause(std::min((end - now) / 1000 + 1, kMicrosecondsOfSlice));
  }
}

}  // namespace

void wait_for_frames() noexcept {
  constexpr uint64_t kNanosecondsAtMost = 300'000;
  thread_heap.paced_windows = 0;
  if (are_frames_there() || !are_frames_coming() || !is_behind()) return;
  count(promotion_counters.frame_waits, 1);
  pause_while([start = os::nanoseconds()]() noexcept { return !are_frames_there() && are_frames_coming() && os::nanoseconds() - start < kNanosecondsAtMost; },
              kNanosecondsAtMost / 1000);
  if (!are_frames_there()) thread_heap.paced_windows = core::kWindowsPerBlock;
}

void pace() noexcept {
  constexpr uint64_t kMicroseconds = 100, kMicrosecondsFarBehind = 300;
  thread_heap.paced_windows--;
  if (are_frames_there() || !are_frames_coming()) {
    thread_heap.paced_windows = 0;
    return;
  }
  pause_while([]() noexcept { return true; }, is_reclaim_far_behind() ? kMicrosecondsFarBehind : kMicroseconds);
}

void pace_large(size_t size) noexcept {
  constexpr uint64_t kMicrosecondsAtMost = 300, kMicrosecondsFarBehind = 3000, kBytesOfOne = 512, kBytesOfOneFarBehind = 128;
  if (!is_reclaiming() || are_frames_there() || thread_heap.emergency != 0 || !is_reclaim_behind()) return;
  count(promotion_counters.frame_waits, 1);
  uint64_t microseconds = is_reclaim_far_behind() ? std::min<uint64_t>(size / kBytesOfOneFarBehind, kMicrosecondsFarBehind)
                                                  : std::min<uint64_t>(size / kBytesOfOne, kMicrosecondsAtMost);
  pause_while(is_reclaiming, microseconds);
}

void note_blocks_to_come(size_t blocks) noexcept { state.blocks_to_come.store(blocks, std::memory_order_relaxed); }

}  // namespace freehold::heap
