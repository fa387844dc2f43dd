#include "heap/promotion_policy.h"

#include <algorithm>
#include <atomic>

#include "core/knobs.h"
#include "core/module_state.h"
#include "heap/accounting.h"
#include "heap/forwarding.h"
#include "heap/thread_heap.h"

namespace freehold::heap {

namespace {

constexpr uint64_t kEnoughDeleted = uint64_t{128} << 20;
// What the heap may hold, in sixteenths of its live bytes: when a round begins, when threads wait for one if there are no frames, when they wait if there are, and what a round leaves. Kedia et al. begin at
// 24, end above 21 and take blocks at least half dead. In the simulator of benchmarks/ less memory took no more time with one thread (new memory has to be
// touched first), and up to 5% with two on two processors.
constexpr uint64_t kFragmentedAt = 22, kPacedAt = 24, kPacedAnywayAt = 32, kEndAt = 19;
// When short rounds, of young blocks, have left too much in old ones.
constexpr uint64_t kOldAt = 28;

// Hints for other threads: written by the round under way. The first two are sums that recent_totals() is not older than: stored behind them, by a release, and read before them. Else a
// difference could be less than nothing. The others relaxed; nothing is read on the strength of them.
struct State {
  std::atomic<uint64_t> deleted_at_last_round{0}, deleted_at_last_whole_round{0};
  std::atomic<bool> candidates_suffice{false};
  std::atomic<bool> last_round_was_short{false};  // so the next one may be cheap too
  uint64_t cards_walked = 0;                      // by the last round; the promoting thread's
};
constinit State state;
FREEHOLD_MODULE_STATE(state);

}  // namespace

bool is_fragmented(uint64_t live, uint64_t footprint) noexcept { return footprint >= live / 16 * kFragmentedAt + kSlack; }

bool is_over_budget() noexcept {
  uint64_t live = recent_totals().live_bytes();
  return compactable_footprint() >= live / 16 * kPacedAt + kSlack / 2 * 3;
}

bool is_far_over_budget() noexcept { return compactable_footprint() >= recent_totals().live_bytes() / 16 * kPacedAnywayAt + kSlack * 2; }

size_t bytes_to_win() noexcept {
  size_t wanted = thread_totals().live_bytes() / 16 * kEndAt, footprint = compactable_footprint();
  return footprint > wanted ? footprint - wanted : 0;
}

bool is_too_small_to_promote() noexcept { return compactable_footprint() < 2 * kSlack && !should_promote(); }

bool is_heap_fragmented() noexcept {
  return core::knobs.promotion && !core::knobs.debug && is_fragmented(recent_totals().live_bytes(), compactable_footprint());
}

bool should_promote() noexcept {
  if (core::knobs.debug || !core::knobs.promotion) return false;
  uint64_t then = state.deleted_at_last_round.load(std::memory_order_acquire);
  ThreadTotals totals = recent_totals();
  uint64_t live = totals.live_bytes(), footprint = compactable_footprint();
  // A short round costs what was stored since the last one, a walk over the whole heap what lives.
  uint64_t share = footprint / (state.last_round_was_short.load(std::memory_order_relaxed) ? 32 : 8), enough = std::min(share, kEnoughDeleted);
  if (!is_fragmented(live, footprint) || totals.deleted_bytes - then < enough) return false;
  return forwarding_bytes() < footprint / 8 + kSlack;
}

bool are_old_blocks_due() noexcept {
  uint64_t then = state.deleted_at_last_whole_round.load(std::memory_order_acquire);
  ThreadTotals totals = recent_totals();
  uint64_t live = totals.live_bytes(), footprint = compactable_footprint();
  return footprint >= live / 16 * kOldAt + kSlack && totals.deleted_bytes - then >= footprint / 8;
}

bool had_enough_candidates() noexcept { return state.candidates_suffice.load(std::memory_order_relaxed); }

void note_round() noexcept { state.deleted_at_last_round.store(thread_totals().deleted_bytes, std::memory_order_release); }
void note_candidates(bool suffice) noexcept { state.candidates_suffice.store(suffice, std::memory_order_relaxed); }

void note_walk(bool is_short, uint64_t cards) noexcept {
  state.last_round_was_short.store(is_short, std::memory_order_relaxed);
  if (!is_short) state.deleted_at_last_whole_round.store(thread_totals().deleted_bytes, std::memory_order_release);
  state.cards_walked = cards;
}

uint64_t cards_of_last_round() noexcept { return state.cards_walked; }

}  // namespace freehold::heap
