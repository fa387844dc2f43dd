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
  std::atomic<uint64_t> live_then{0};   // bytes, when all objects were last looked through
  std::atomic<uint64_t> live_begun{0};  // bytes, when one began last
  // The most that lived since a number of bytes had been allocated: what lives falls where a program deletes by itself, and so does live_then, when it has stayed low for long.
  std::atomic<uint64_t> highest{0}, allocated_then{0};
  std::atomic<int> running{0};
  std::atomic<uint64_t> noted{0};
  std::atomic<uint32_t> vain{0};  // of those after which most of what had grown was still there: in a row, kVainAtMost at most
};
constexpr uint32_t kVainAtMost = 3;
constexpr uint64_t kWorthJudging = 4 << 20;
constinit State state;
FREEHOLD_MODULE_STATE(state);

// By how much what lives has to grow. After a reclaim that was of little use, twice the share, so that the heap's bound is not far, and up to eight times what is asked of small heaps.
uint64_t growth() noexcept {
  constexpr uint64_t kLeast = 32 << 20;
  uint32_t vain = state.vain.load(std::memory_order_relaxed);
  return std::max(kLeast << vain, (state.live_then.load(std::memory_order_relaxed) / 100 * core::knobs.reclaim_growth) << std::min(vain, 1u));
}

// A program whose heap goes up and down allocates less than that from one peak to the next.
void follow_fall(const ThreadTotals& totals) noexcept {
  constexpr uint64_t kLeast = 32 << 20, kTimes = 4;
  uint64_t live = totals.live_bytes(), highest = state.highest.load(std::memory_order_relaxed), before = state.live_then.load(std::memory_order_relaxed);
  if (live > highest) state.highest.store(highest = live, std::memory_order_relaxed);
  uint64_t then = state.allocated_then.load(std::memory_order_relaxed);
  if (totals.allocated_bytes - then < std::max(kLeast, kTimes * before) || totals.allocated_bytes < then) return;
  if (!state.allocated_then.compare_exchange_strong(then, totals.allocated_bytes, std::memory_order_relaxed)) return;
  state.highest.store(live, std::memory_order_relaxed);
  if (highest < before && !is_reclaiming()) state.live_then.store(highest, std::memory_order_relaxed);
}

// Whether less than a part of the limit is left to a marking under way, and the heap has grown since it began: threads that go on at full speed would meet the limit before its end.
bool is_limit_near(size_t part) noexcept {
  if (!is_reclaiming() || !core::knobs.reclaims_by_itself()) return false;
  size_t most = limit();
  return memory_footprint() > most - most / part && recent_totals().live_bytes() >= state.live_begun.load(std::memory_order_relaxed) + most / 64;
}

bool has_outrun(uint64_t bytes) noexcept {
  return is_reclaiming() && core::knobs.reclaims_by_itself() && recent_totals().live_bytes() >= state.live_then.load(std::memory_order_relaxed) + bytes;
}

}  // namespace

ReclaimDue reclaim_due() noexcept {
  if (!core::knobs.reclaims_by_itself()) return ReclaimDue::kNothing;
  ThreadTotals totals = recent_totals();
  follow_fall(totals);
  uint64_t before = state.live_then.load(std::memory_order_relaxed), live = totals.live_bytes();
  if (live >= before + growth()) return ReclaimDue::kAll;
  // Near the limit, before an allocation has to wait for a marking. If those are of little use, it may as well be the last one.
  if (memory_footprint() > limit() / 8 * 7 && live >= before + (std::max(limit() / 16, kWorthJudging) << state.vain.load(std::memory_order_relaxed)))
    return ReclaimDue::kAll;
  return young_due(live, growth());
}

void note_reclaim_begins() noexcept {
  state.live_begun.store(thread_totals().live_bytes(), std::memory_order_relaxed);
  state.running.fetch_add(1, std::memory_order_relaxed);
}

void note_reclaim(const Reclaimed& reclaimed) noexcept {
  constexpr uint64_t kShare = 8;
  state.noted.fetch_add(1, std::memory_order_relaxed);
  note_for_young(reclaimed, state.live_begun.load(std::memory_order_relaxed));
  if (reclaimed.scope == ReclaimScope::kYoung) {
    state.running.fetch_sub(1, std::memory_order_relaxed);
    return;
  }
  // Until it began: what threads have made since is alive for it.
  uint64_t before = state.live_then.load(std::memory_order_relaxed), begun = state.live_begun.load(std::memory_order_relaxed),
           grown = begun - std::min(begun, before);
  // Who asks again and again, while nothing happens, says nothing about the program; nor does a marking that had no memory.
  if (reclaimed.marked) {
    uint32_t vain = state.vain.load(std::memory_order_relaxed);
    if (reclaimed.deleted >= std::max(grown, kWorthJudging) / kShare) state.vain.store(0, std::memory_order_relaxed);
    else if (grown >= kWorthJudging && vain < kVainAtMost) state.vain.store(vain + 1, std::memory_order_relaxed);
  }
  state.live_then.store(reclaimed.live, std::memory_order_relaxed);
  state.highest.store(reclaimed.live, std::memory_order_relaxed);
  state.allocated_then.store(thread_totals().allocated_bytes, std::memory_order_relaxed);
  state.running.fetch_sub(1, std::memory_order_relaxed);
}

void forget_running_reclaims() noexcept { state.running.store(0, std::memory_order_relaxed); }

bool is_reclaiming() noexcept { return state.running.load(std::memory_order_relaxed) != 0; }

uint64_t noted_reclaims() noexcept { return state.noted.load(std::memory_order_relaxed); }

bool is_reclaim_waiting() noexcept { return !is_reclaiming() && should_reclaim(); }

bool is_reclaim_behind() noexcept { return has_outrun(growth() / 2 * 3) || is_limit_near(16); }

bool is_reclaim_far_behind() noexcept { return has_outrun(growth() * 4) || is_limit_near(32); }

}  // namespace freehold::heap
