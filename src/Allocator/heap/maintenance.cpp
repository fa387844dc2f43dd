#include "heap/maintenance.h"

#include <algorithm>
#include <atomic>
#include <bit>

#include "Platform/lock.h"
#include "core/knobs.h"
#include "core/module_state.h"
#include "core/stop_spacing.h"
#include "heap/accounting.h"
#include "heap/background_thread.h"
#include "heap/block_pool.h"
#include "heap/block_walk.h"
#include "heap/chunks.h"
#include "heap/dead_pages.h"
#include "heap/dedangling.h"
#include "heap/huge_ends.h"
#include "heap/large.h"
#include "heap/maintenance_signals.h"
#include "heap/mappings.h"
#include "heap/notices.h"
#include "heap/phases.h"
#include "heap/pin_release.h"
#include "heap/pins.h"
#include "heap/prefault.h"
#include "heap/prefault_policy.h"
#include "heap/promotion.h"
#include "heap/promotion_policy.h"
#include "heap/reachability.h"
#include "heap/reclaim_policy.h"
#include "heap/shared_work.h"
#include "heap/thread_heap.h"
#include "heap/walk.h"
#include "os/kernel.h"

namespace freehold::heap {

using core::arena;
using core::kPagesPerBlock;

namespace {

constexpr uint64_t kTickNanoseconds = 50'000'000;
constexpr size_t kMovedKept = 256;

struct State {
  // Relaxed: a thread that collects beside the background thread only makes it look busier.
  std::atomic<uint64_t> deleted_at_last_recount{0};
  std::atomic<uint64_t> recycled_at_last_round{0};
  SharedWork thorough_rounds;
};
constinit State state;
FREEHOLD_MODULE_STATE(state);

// Corrects the counters of one block from its objects, and buries what turns out to be dead.
void recount_block(size_t block) noexcept {
  os::LockGuard guard(maintenance_lock);
  // One object a page: no update is lost, and a page that was just taken has a count before it has an object.
  if (arena.blocks[block].kind == core::BlockKind::kGuarded) return;
  for (size_t page = block * kPagesPerBlock; page < (block + 1) * kPagesPerBlock; page++) {
    if (__atomic_load_n(&arena.pages[page].deleted, __ATOMIC_RELAXED) == 0 || core::is_page_dead(page)) continue;
    recount_page(page);
    block_counters.recounts.fetch_add(1, std::memory_order_relaxed);
  }
}

template <typename Function>
void for_each_shared_block(Function function) noexcept {
  for_each_lower_block([&](size_t block) noexcept {
    if (arena.blocks[block].state.load(std::memory_order_acquire) == core::BlockState::kLive) function(block);
  });
}

void recount() noexcept {
  state.deleted_at_last_recount.store(thread_totals().deleted_bytes, std::memory_order_relaxed);
  for_each_shared_block([](size_t block) noexcept { recount_block(block); });
}

// Lost updates of counters matter when much was deleted and little of it was found dead (f > 1/2, Kedia et al., section 4), nor enough of it sparse.
// Not often: it is a walk of the heap, which promotion waits for.
bool should_recount() noexcept {
  if (had_enough_candidates()) return false;
  ThreadTotals totals = thread_totals();
  uint64_t live = totals.live_bytes();
  uint64_t since = totals.deleted_bytes - state.deleted_at_last_recount.load(std::memory_order_relaxed);
  // Frames that wait for their next use are no sign of it.
  uint64_t footprint = compactable_footprint();
  return footprint > 2 * live + (uint64_t{16} << 20) && since > 8 * footprint;
}

bool dead_pages_weigh() noexcept {
  uint64_t dead = dead_pages(), released = block_counters.released_pages.load(std::memory_order_relaxed);
  return dead > released && (dead - released) * 2 * core::kPageSize > resident_memory();
}

// A block that loses pages cannot be recycled, its huge page is split, and walks fault there. Promotion empties it as a whole, unless it is pinned.
bool is_left_to_promotion(size_t block) noexcept {
  const core::BlockRecord& record = arena.blocks[block];
  return core::knobs.promotion && !core::knobs.debug && record.kind == core::BlockKind::kSmall && record.handle_pins.load(std::memory_order_relaxed) == 0 &&
         record.stack_pins.load(std::memory_order_relaxed) == 0;
}

// Blocks that are not used up and that nobody allocated from since the last round: what is left of their chunks is given back, if it has memory or keeps
// dead pages behind it from being released, and their dead pages. `thorough`: all such blocks, whoever allocates from them. Blocks that are used up are
// left to promotion, but it has nothing to do in a small heap: there they lose the dead pages that they had in the last round too.
void release_idle_blocks(bool thorough) noexcept {
  bool small = !core::knobs.debug && is_too_small_to_promote();
  for_each_shared_block([thorough, small](size_t block) noexcept {
    os::LockGuard guard(maintenance_lock);
    core::BlockRecord& record = arena.blocks[block];
    uint64_t claimed = record.claimed.load(std::memory_order_acquire), before = record.claimed_last_round;
    uint16_t dead = record.dead_pages.load(std::memory_order_relaxed), dead_before = record.dead_last_round;
    record.claimed_last_round = claimed;
    record.dead_last_round = dead;
    if (record.kind != core::BlockKind::kSmall || (!thorough && claimed != before)) return;
    if (claimed == ~uint64_t{0}) {
      if (small && dead == dead_before && dead > kPagesPerBlock / 2) release_dead_pages(block, kBackgroundRun);
      return;
    }
    bool has_several_chunks = std::popcount(record.chunk_starts.load(std::memory_order_relaxed)) > 1;
    if (thorough || record.backed || has_several_chunks) end_idle_chunks(block);
    release_dead_pages(block, thorough ? 1 : kBackgroundRun);
  });
  os::LockGuard guard(maintenance_lock);
  retire_idle_large_block();
}

// A tick, or until a reclaim is due; meanwhile, what allocations are in a hurry for: frames from sparse blocks, and from dead ones that wait for pins.
void wait_for_tick() noexcept {
  if (!has_hurry()) wait_for_hurry(kTickNanoseconds);
  // Not for ever: the other work is not to starve, such as trimming the pool of what all these rounds have not needed.
  for (uint64_t start = os::nanoseconds(); has_hurry() && os::nanoseconds() - start < kTickNanoseconds;) {
    forget_hurry();
    if (should_reclaim()) return;  // a round before it would copy what the reclaim finds dead
    end_listed_huge_unless_busy();
    if (should_promote()) {
      promote(PromotionScope::kFragmented);
      phase_done("promotion");
    }
    if (has_blocks_that_wait_for_pins() && wait_between_stops()) release_unpinned_blocks(false, false);
  }
}

void* maintenance_thread(void*) noexcept {
  while (true) {
    // Once a second without being asked: deletions that kill no page wake nobody, and may have left every page half empty.
    while (!has_work() && !should_promote() && !should_remap() && !should_reclaim() && !is_notice_due()) wait_for_work(1'000'000'000);
    forget_work();
    end_listed_huge_unless_busy();  // before a round or a marking, which may take long
    start_prefaulting(false);
    // Until two rounds in a row had nothing left to give back.
    do {
      wait_for_tick();
      if (ReclaimDue due = reclaim_due(); due != ReclaimDue::kNothing) {
        start_prefaulting(true);  // the heap grows, and this thread marks meanwhile
        if (reclaim(due == ReclaimDue::kYoung ? ReclaimScope::kYoung : ReclaimScope::kAll) >= 0) phase_done("deletion of what no root reaches");
      }
      maintain(false, false);
      give_notice();
    } while (should_promote() || should_remap() || has_blocks_that_wait_for_pins() || block_counters.pooled.load(std::memory_order_relaxed) != 0 ||
             block_counters.moved.load(std::memory_order_relaxed) != 0);
  }
  return nullptr;
}

}  // namespace

bool start_maintenance() noexcept {
  // The thread that would reclaim leaves distance between its rounds; the heap grows meanwhile.
  core::stop_spacing.set_urgent(is_reclaim_waiting);
  bool started = start_background_thread("Freehold", maintenance_thread);
  bool moves = core::knobs.promotion && !core::knobs.debug;
  if (core::knobs.stress.promote != 0 && moves) {
    started = started && start_background_thread("Freehold stress", [](void*) -> void* { promote_for_ever(phase_done); });
  }
  if (core::knobs.stress.reclaim != 0) {
    started = started && start_background_thread("Freehold marks", [](void*) -> void* { reclaim_for_ever(phase_done); });
  }
  if (core::knobs.stress.deletion != 0 && moves) {
    started = started && start_background_thread("Freehold pins", [](void*) -> void* { refresh_pins_for_ever(); });
  }
  return started;
}

void maintain_together() noexcept {
  state.thorough_rounds.once_since(state.thorough_rounds.begun(), []() noexcept { maintain(true, false); });
}

void trim_pool_in_steps(size_t keep) noexcept {
  size_t trimmed;
  do {
    os::LockGuard guard(maintenance_lock);
    trimmed = trim_pool(keep, 1);
  } while (trimmed != 0);
}

void lose_background_threads() noexcept {
  state.thorough_rounds.forget();
  forget_prefaulting();
  forget_work();
  forget_hurry();
  start_at_next_wake(start_maintenance);
}

void maintain(bool thorough, bool on_allocating_thread) noexcept {
  // A phase has the lock for each of its blocks: others wait for it with all threads stopped. Its hook does not: the hook may stop threads that wait for the lock here.
  auto phase = [&](const char* name, auto work) noexcept {
    work();
    if (!on_allocating_thread) phase_done(name);
  };
  end_listed_huge();
  watch_mappings(mappings());
  if (thorough || should_recount()) phase("recount", [] { recount(); });
  if (thorough || dead_pages_weigh()) {
    phase("release of dead pages", [&] {
      for_each_shared_block([&](size_t block) noexcept {
        os::LockGuard guard(maintenance_lock);
        if (thorough || !is_left_to_promotion(block)) release_dead_pages(block, thorough ? 1 : kBackgroundRun);
      });
    });
  }
  phase("release of idle blocks", [&] { release_idle_blocks(thorough); });
  if (has_blocks_that_wait_for_pins() && (thorough || (!has_just_looked_for_pins() && may_stop_for_pins())))
    release_unpinned_blocks(thorough, on_allocating_thread);
  // Promotion locks each block that it takes, not all of maintenance.
  if (thorough || should_promote()) {
    promote(thorough ? PromotionScope::kSparse : PromotionScope::kFragmented, !on_allocating_thread);
    if (!on_allocating_thread) phase_done("promotion");
    // The block that the copies went to has memory to its end.
    if (thorough) phase("release of idle blocks", [] { release_idle_blocks(true); });
  }
  if (!on_allocating_thread && (thorough || should_remap()) && dedangle()) phase_done("de-dangling");
  if (thorough) drop_prefaulted();
  if (block_counters.pooled.load(std::memory_order_relaxed) != 0) phase("trim", [&] { trim_pool_in_steps(thorough ? 0 : pool_without_surplus()); });
  // Empty addresses keep their tables. Many are worth a call or two of the kernel; so are few, once the program takes no more blocks.
  uint64_t recycled = block_counters.recycled.load(std::memory_order_relaxed), moved = block_counters.moved.load(std::memory_order_relaxed);
  bool quiet = state.recycled_at_last_round.exchange(recycled, std::memory_order_relaxed) == recycled;
  if (moved > kMovedKept || ((thorough || quiet) && moved != 0))
    phase("collapse", [] {
      bool more;
      do {
        os::LockGuard guard(maintenance_lock);
        more = collapse_moved(0, 1);
      } while (more);
    });
}

}  // namespace freehold::heap
