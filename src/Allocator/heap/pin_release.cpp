#include "heap/pin_release.h"

#include <algorithm>
#include <atomic>

#include "core/knobs.h"
#include "core/module_state.h"
#include "heap/accounting.h"
#include "heap/huge_ends.h"
#include "heap/phases.h"
#include "heap/pinned_blocks.h"
#include "heap/promotion_policy.h"
#include "heap/reclaim_policy.h"
#include "os/kernel.h"

namespace freehold::heap {

namespace {

constexpr uint64_t kBetweenStopsMicroseconds = 5'000;
// Ticks without one, at most, while stops find nothing to release.
constexpr uint32_t kPatience = 32;

struct State {
  std::atomic<uint32_t> ticks_to_stop{1}, ticks_between_stops{1};
  std::atomic<uint64_t> pinned_at_last_stop{0};
  std::atomic<uint64_t> last_look{0};  // nanoseconds
};
constinit State state;
FREEHOLD_MODULE_STATE(state);

}  // namespace

// What nothing pins any more is released. The stop is made without the lock: a thread that waits for it could not be stopped.
void release_unpinned_blocks(bool thorough, bool on_allocating_thread) noexcept {
  uint64_t pinned = block_counters.pinned.load(std::memory_order_relaxed) + block_counters.pinned_huge.load(std::memory_order_relaxed);
  bool more = pinned > state.pinned_at_last_stop.load(std::memory_order_relaxed);
  size_t released = 0;
  if (!look_for_pins()) return;
  state.last_look = os::nanoseconds();
  {
    os::LockGuard guard(maintenance_lock);
    released = release_unpinned(thorough || core::knobs.debug ? 1 : kBackgroundRun);
  }
  end_listed_huge();
  if (!on_allocating_thread) phase_done("release of unpinned blocks");
  state.pinned_at_last_stop = pinned - (released < pinned ? released : pinned);
  state.ticks_between_stops = released != 0 || more ? 1 : std::min(2 * state.ticks_between_stops.load(), kPatience);
  state.ticks_to_stop = state.ticks_between_stops.load();
}

bool may_stop_for_pins() noexcept {
  if (block_counters.pinned.load(std::memory_order_relaxed) + block_counters.pinned_huge.load(std::memory_order_relaxed) > state.pinned_at_last_stop)
    return true;
  if (state.ticks_to_stop > 1) {
    state.ticks_to_stop--;
    return false;
  }
  return true;
}

void release_what_no_thread_pins() noexcept { release_unpinned_blocks(true, false); }

bool has_just_looked_for_pins() noexcept { return os::nanoseconds() - state.last_look.load() < kBetweenStopsMicroseconds * 1000; }

bool wait_between_stops() noexcept {
  for (uint32_t tick = 0; tick < state.ticks_between_stops; tick++) {
    if (should_promote() || should_reclaim()) return false;
    os::pause(kBetweenStopsMicroseconds);
  }
  return true;
}

}  // namespace freehold::heap
