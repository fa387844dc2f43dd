#include "heap/fork.h"

#include <cstddef>
#include <cstdint>

#include "Platform/memory_budget.h"
#include "core/arena.h"
#include "heap/addresses.h"
#include "heap/allocation.h"
#include "heap/block_lists.h"
#include "heap/block_pool.h"
#include "heap/block_protection.h"
#include "heap/block_walk.h"
#include "heap/cards.h"
#include "heap/concurrent_reclaim.h"
#include "heap/death_samples.h"
#include "heap/guarded_choice.h"
#include "heap/huge_ends.h"
#include "heap/maintenance.h"
#include "heap/pins.h"
#include "heap/reclaim_policy.h"
#include "heap/scopes.h"
#include "heap/thread_heap.h"
#include "os/kernel.h"
#include "os/userfaultfd.h"

namespace freehold::heap {

using core::arena;
using core::BlockRecord;
using core::BlockState;
using core::kBlockSize;
using core::kPageSize;
using core::kPagesPerBlock;

namespace {

void forbid_access(uint8_t* start, size_t size) noexcept {
  if (size == 0 || os::protect_none(start, size) || os::guard(start, size)) return;
  os::fail_fast("there are no kernel mappings for the deleted memory of a forked process.",
                "Raise vm.max_map_count, set FREEHOLD_PROTECTION=mprotect, or start processes with posix_spawn or System.Diagnostics.Process.");
}

void forbid_released_pages(size_t block) noexcept {
  const BlockRecord& record = arena.blocks[block];
  auto is_released = [&record](size_t page) noexcept { return (record.released[page / 64].load(std::memory_order_relaxed) >> (page % 64) & 1) != 0; };
  for (size_t page = 0; page < kPagesPerBlock;) {
    size_t end = page;
    while (end < kPagesPerBlock && is_released(end)) end++;
    forbid_access(arena.block_start(block) + page * kPageSize, (end - page) * kPageSize);
    page = end + 1;
  }
}

void forbid_dead_memory() noexcept {
  // Neighbours in one call.
  uint8_t* start = nullptr;
  size_t size = 0;
  for_each_lower_block([&](size_t block) noexcept {
    const BlockRecord& record = arena.blocks[block];
    BlockState state = record.state.load(std::memory_order_acquire);
    bool is_empty = state == BlockState::kMoved || state == BlockState::kForwarded;
    if (is_empty && start + size == arena.block_start(block)) {
      size += kBlockSize;
    } else if (is_empty) {
      forbid_access(start, size);
      start = arena.block_start(block);
      size = kBlockSize;
    } else if (state != BlockState::kGone && record.partly_released.load(std::memory_order_relaxed)) {
      forbid_released_pages(block);
    }
  });
  forbid_access(start, size);
}

// Where mappings were short, what is dead was left empty and watched, one mapping with its neighbours; and the child is not watched. What the kernel refuses stays, as ever.
void forbid_gone_blocks(size_t first, size_t end) noexcept {
  size_t run = first;  // where what is gone begins
  auto end_run = [&run](size_t block) noexcept {
    if (block != run) give_back_or_keep(arena.block_start(run), (block - run) * kBlockSize);
    run = block + 1;
  };
  for (size_t block = first; block < end; block++) {
    bool is_gone = core::is_group_gone(block / core::kBlocksPerGroup * core::kBlocksPerGroup) ||
                   arena.blocks[block].state.load(std::memory_order_acquire) == BlockState::kGone;
    if (!is_gone || is_to_be_used(block)) end_run(block);
  }
  end_run(end);
}

void forbid_all_that_is_gone() noexcept {
  drop_prefaulted_in_child();  // kGone as well
  for_each_lower_range(forbid_gone_blocks);
  forbid_gone_blocks(arena.block_count() / 2, upper_frontier());
}

}  // namespace

void take_locks_for_fork() noexcept {
  block_lock.lock();
  lock_addresses();
  // Last: who holds one of the others may add up what threads have allocated.
  lock_thread_list();
}

void give_back_locks_of_fork() noexcept {
  unlock_thread_list();
  unlock_addresses();
  block_lock.unlock();
}

void go_on_in_child(ChildOfFork child) noexcept {
  os::leave_parents_budget();
  if (stop_watching()) {
    os::forget_userfaultfd();
    if (child == ChildOfFork::kGoesOn) forbid_dead_memory();
    if (child == ChildOfFork::kGoesOn && is_dead_memory_accessible()) forbid_all_that_is_gone();
  }
  forget_other_threads();
  forget_barrier_writer();
  forget_marking();
  forget_scopes_of_other_threads();
  forget_reclaiming_thread();
  forget_ending_threads();
  forget_running_reclaims();
  end_death_samples();
  forget_death_lock();
  initialize_pins();
  recount_prefaulted();
  lose_background_threads();
  choose_guarded_anew();
}

}  // namespace freehold::heap
