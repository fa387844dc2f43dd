#include "heap/reclaim_policy.h"

#include <algorithm>
#include <atomic>

#include "core/knobs.h"
#include "core/module_state.h"
#include "heap/accounting.h"
#include "heap/thread_heap.h"

namespace freehold::heap {

namespace {

// Hints, stored by whoever is in reclaim(), in any order.
struct State {
  std::atomic<uint64_t> live_then{0};  // bytes, when reclaim() was last called
  std::atomic<int> running{0};
};
constinit State state;
FREEHOLD_MODULE_STATE(state);

// By how much what lives has to grow.
uint64_t growth() noexcept {
  constexpr uint64_t kLeast = 32 << 20;
  return std::max(kLeast, state.live_then.load(std::memory_order_relaxed) / 100 * core::knobs.reclaim_growth);
}

bool has_outrun(uint64_t bytes) noexcept {
  return is_reclaiming() && core::knobs.reclaims_by_itself() && thread_totals().live_bytes() >= state.live_then.load(std::memory_order_relaxed) + bytes;
}

}  // namespace

bool should_reclaim() noexcept {
  if (!core::knobs.reclaims_by_itself()) return false;
  uint64_t before = state.live_then.load(std::memory_order_relaxed);
  uint64_t live = thread_totals().live_bytes();
  if (live >= before + growth()) return true;
  // Near the limit, before an allocation has to wait for a marking.
  return memory_footprint() > limit() / 8 * 7 && live >= before + limit() / 16;
}

void note_reclaim_begins() noexcept { state.running.fetch_add(1, std::memory_order_relaxed); }

void note_reclaim(uint64_t live) noexcept {
  state.live_then.store(live, std::memory_order_relaxed);
  state.running.fetch_sub(1, std::memory_order_relaxed);
}

void forget_running_reclaims() noexcept { state.running.store(0, std::memory_order_relaxed); }

bool is_reclaiming() noexcept { return state.running.load(std::memory_order_relaxed) != 0; }

bool is_reclaim_behind() noexcept { return has_outrun(growth() / 2 * 3); }

bool is_reclaim_far_behind() noexcept { return has_outrun(growth() * 4); }

}  // namespace freehold::heap
