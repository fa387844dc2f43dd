#include "heap/prefault_policy.h"

#include <algorithm>
#include <atomic>

#include "Platform/futex.h"
#include "core/knobs.h"
#include "core/module_state.h"
#include "heap/accounting.h"
#include "heap/maintenance_signals.h"
#include "heap/promotion_policy.h"

namespace freehold::heap {

namespace {

// Of the live blocks, and at most: what a program pays for memory that it may not need.
constexpr size_t kShare = 16, kAtMost = 16;

struct State {
  std::atomic<uint32_t> growth{0};  // blocks of fresh memory that were taken, by any thread: what the prefaulting thread sleeps on
  // Written by the prefaulting thread only. Who takes a block counts it before it asks whether to wake, and the sleeper says so before the kernel compares the
  // count: in the one order of all seq_cst operations, at least one side observes the other's store.
  std::atomic<bool> sleeping{false};
  std::atomic<bool> started{false};  // written by the maintenance thread only; who still reads false wakes it once in vain
};
constinit State state;
FREEHOLD_MODULE_STATE(state);

}  // namespace

size_t prefaulted_at_most(size_t live) noexcept {
  // Tests have small heaps.
  size_t least = core::knobs.stress.moves() ? 2 : 0;
  return std::max(least, std::min(live / kShare, kAtMost));
}

size_t blocks_to_prefault() noexcept {
  if (is_heap_fragmented() && !core::knobs.stress.moves()) return 0;
  return prefaulted_at_most(block_counters.live.load(std::memory_order_relaxed));
}

void note_growth() noexcept {
  state.growth.fetch_add(1, std::memory_order_seq_cst);
  if (!state.started.load(std::memory_order_relaxed) && blocks_to_prefault() != 0) wake_maintenance();
  if (state.sleeping.load(std::memory_order_seq_cst)) os::wake_one(state.growth);
}

bool wait_for_growth(uint32_t seen, const timespec* at_most) noexcept {
  state.sleeping.store(true, std::memory_order_seq_cst);
  bool in_time = os::wait_on(state.growth, seen, at_most);
  state.sleeping.store(false, std::memory_order_relaxed);
  return in_time;
}

uint32_t growth_seen() noexcept { return state.growth.load(std::memory_order_acquire); }
bool is_prefaulting() noexcept { return state.started.load(std::memory_order_relaxed); }
void set_prefaulting(bool runs) noexcept { state.started.store(runs, std::memory_order_relaxed); }
void forget_prefaulting() noexcept {
  set_prefaulting(false);
  state.sleeping.store(false, std::memory_order_relaxed);
}

}  // namespace freehold::heap
