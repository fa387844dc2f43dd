#include "heap/young_policy.h"

#include <algorithm>
#include <atomic>

#include "core/knobs.h"
#include "core/module_state.h"
#include "heap/young_blocks.h"

namespace freehold::heap {

namespace {

constexpr uint64_t kLeast = 32 << 20, kShareOfGrowth = 4;
// A young reclaim pays if so much of what had grown went, the n-th part, and no dearer than one of all objects would have it.
constexpr uint64_t kPays = 4;
constexpr uint64_t kWorthJudging = 4 << 20;
constexpr uint32_t kInARowAtMost = 16, kVainAtMost = 3;

// Hints, stored by whoever is in reclaim(), in any order.
struct State {
  std::atomic<uint64_t> live_then{0};    // bytes, after the last reclaim of either kind
  std::atomic<uint64_t> cost_of_all{0};  // of the last one of all objects that was of use: nanoseconds for each MB that it has deleted. 0: not known
  std::atomic<uint32_t> in_a_row{0};     // young ones
  std::atomic<uint32_t> vain{0};         // young ones that did not pay, in a row, kVainAtMost at most
  std::atomic<uint32_t> left_out{0};     // how many of all objects are next, with no young one between
};
constinit State state;
FREEHOLD_MODULE_STATE(state);

uint64_t cost_of(const Reclaimed& reclaimed) noexcept { return reclaimed.cost / std::max<uint64_t>(reclaimed.deleted >> 20, 1); }

}  // namespace

ReclaimDue young_due(uint64_t live, uint64_t growth) noexcept {
  uint64_t enough = std::max(kLeast, growth / kShareOfGrowth);
  if (enough >= growth || live < state.live_then.load(std::memory_order_relaxed) + enough) return ReclaimDue::kNothing;
  if (!core::knobs.reclaims_young() || !are_blocks_young() || state.left_out.load(std::memory_order_relaxed) != 0) return ReclaimDue::kNothing;
  return state.in_a_row.load(std::memory_order_relaxed) < kInARowAtMost ? ReclaimDue::kYoung : ReclaimDue::kAll;
}

void note_for_young(const Reclaimed& reclaimed, uint64_t begun) noexcept {
  auto load = [](const auto& word) noexcept { return word.load(std::memory_order_relaxed); };
  uint64_t before = state.live_then.exchange(reclaimed.live, std::memory_order_relaxed), grown = begun - std::min(begun, before);
  if (reclaimed.scope == ReclaimScope::kAll) {
    state.in_a_row.store(0, std::memory_order_relaxed);
    if (uint32_t left = load(state.left_out); left != 0) state.left_out.store(left - 1, std::memory_order_relaxed);
    if (reclaimed.marked && reclaimed.deleted >= kWorthJudging) state.cost_of_all.store(cost_of(reclaimed), std::memory_order_relaxed);
    return;
  }
  state.in_a_row.fetch_add(1, std::memory_order_relaxed);
  if (!reclaimed.marked || grown < kWorthJudging) return;
  uint64_t of_all = load(state.cost_of_all);
  uint32_t vain = load(state.vain);
  if (reclaimed.deleted >= grown / kPays && (of_all == 0 || cost_of(reclaimed) <= of_all)) {
    state.vain.store(0, std::memory_order_relaxed);
  } else {
    // A heap that is being built: what is young stays, and each object would be marked twice. Or old objects lead to young ones from everywhere.
    state.left_out.store(1u << vain, std::memory_order_relaxed);
    state.vain.store(std::min(vain + 1, kVainAtMost), std::memory_order_relaxed);
  }
}

}  // namespace freehold::heap
