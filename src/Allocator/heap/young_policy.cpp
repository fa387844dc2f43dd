#include "heap/young_policy.h"

#include <algorithm>
#include <atomic>

#include "core/knobs.h"
#include "core/module_state.h"
#include "heap/young_blocks.h"

namespace freehold::heap {

namespace {

constexpr uint64_t kLeast = 32 << 20, kShareOfGrowth = 4;
// A young reclaim pays if so much of what had grown went: the n-th part.
constexpr uint64_t kPays = 4;
constexpr uint64_t kWorthJudging = 4 << 20;
constexpr uint32_t kInARowAtMost = 16, kVainAtMost = 3;

// Hints, stored by whoever is in reclaim(), in any order.
struct State {
  std::atomic<uint64_t> live_then{0};  // bytes, after the last reclaim of either kind
  std::atomic<uint32_t> in_a_row{0};   // young ones
  std::atomic<uint32_t> vain{0};       // young ones that did not pay, in a row, kVainAtMost at most
  std::atomic<uint32_t> left_out{0};   // how many of all objects are next, with no young one between
};
constinit State state;
FREEHOLD_MODULE_STATE(state);

}  // namespace

ReclaimDue young_due(uint64_t live, uint64_t growth) noexcept {
  uint64_t enough = std::max(kLeast, growth / kShareOfGrowth);
  if (enough >= growth || live < state.live_then.load(std::memory_order_relaxed) + enough) return ReclaimDue::kNothing;
  if (!core::knobs.reclaims_young() || !are_blocks_young() || state.left_out.load(std::memory_order_relaxed) != 0) return ReclaimDue::kNothing;
  return state.in_a_row.load(std::memory_order_relaxed) < kInARowAtMost ? ReclaimDue::kYoung : ReclaimDue::kAll;
}

void note_for_young(ReclaimScope scope, uint64_t begun, uint64_t live, uint64_t deleted, bool marked) noexcept {
  uint64_t before = state.live_then.exchange(live, std::memory_order_relaxed), grown = begun - std::min(begun, before);
  if (scope == ReclaimScope::kAll) {
    state.in_a_row.store(0, std::memory_order_relaxed);
    if (uint32_t left = state.left_out.load(std::memory_order_relaxed); left != 0) state.left_out.store(left - 1, std::memory_order_relaxed);
    return;
  }
  state.in_a_row.fetch_add(1, std::memory_order_relaxed);
  if (!marked || grown < kWorthJudging) return;
  uint32_t vain = state.vain.load(std::memory_order_relaxed);
  if (deleted >= grown / kPays) {
    state.vain.store(0, std::memory_order_relaxed);
  } else {
    // A heap that is being built: what is young stays, and each object would be marked twice.
    state.left_out.store(1u << vain, std::memory_order_relaxed);
    state.vain.store(std::min(vain + 1, kVainAtMost), std::memory_order_relaxed);
  }
}

}  // namespace freehold::heap
