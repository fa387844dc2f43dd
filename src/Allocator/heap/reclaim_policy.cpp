#include "heap/reclaim_policy.h"

#include <algorithm>
#include <atomic>

#include "core/knobs.h"
#include "core/module_state.h"
#include "heap/thread_heap.h"

namespace freehold::heap {

namespace {

// Bytes, when reclaim() was last called. Stored by whoever called it, in any order: a hint for should_reclaim().
struct State {
  std::atomic<uint64_t> live_then{0};
};
constinit State state;
FREEHOLD_MODULE_STATE(state);

}  // namespace

bool should_reclaim() noexcept {
  constexpr uint64_t kLeast = 16 << 20;
  if (core::knobs.reclaim_growth == 0) return false;
  uint64_t before = state.live_then.load(std::memory_order_relaxed);
  return thread_totals().live_bytes() >= before + std::max(kLeast, before / 100 * core::knobs.reclaim_growth);
}

void note_reclaim(uint64_t live) noexcept { state.live_then.store(live, std::memory_order_relaxed); }

}  // namespace freehold::heap
