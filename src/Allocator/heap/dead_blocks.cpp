#include "heap/dead_blocks.h"

#include <atomic>
#include <cstdint>

#include "Platform/lock.h"
#include "core/arena.h"
#include "core/knobs.h"
#include "heap/accounting.h"
#include "heap/block_ends.h"
#include "heap/block_lists.h"
#include "heap/dead_pages.h"
#include "heap/guarded_blocks.h"
#include "heap/huge_ends.h"
#include "heap/maintenance_signals.h"
#include "heap/pinned_blocks.h"
#include "heap/pins.h"
#include "heap/thread_heap.h"

namespace freehold::heap {

using core::arena;
using core::BlockRecord;
using core::BlockState;
using core::kPagesPerBlock;

void mark_page_dead(size_t page) noexcept {
  size_t block = page / kPagesPerBlock, in_block = page % kPagesPerBlock;
  BlockRecord& record = arena.blocks[block];
  uint64_t bit = uint64_t{1} << (in_block % 64);
  bool is_guarded = record.kind == core::BlockKind::kGuarded;
  if (is_guarded) [[unlikely]]
    note_guarded_end(page);
  if ((record.dead[in_block / 64].fetch_or(bit, std::memory_order_acq_rel) & bit) != 0) return;
  // A counter that all threads write would cost each of them a cache miss for each page.
  auto count = [](uint64_t change) noexcept {
    if (thread_heap.registered) thread_heap.dead_pages += change;
    else block_counters.dead_pages_of_no_thread.fetch_add(change, std::memory_order_relaxed);
  };
  count(1);
  unsigned before = record.dead_pages.fetch_add(1, std::memory_order_acq_rel);
  if (before + 1 == kPagesPerBlock) bury_dead_block(block);
  else if (before >= core::kDeadPagesClosed) count(~uint64_t{0});  // promotion has taken the block away meanwhile
  else if (is_guarded) {
    release_dead_pages(block, 1);
    if (has_blocks_that_wait_for_pins()) wake_maintenance();
  }
}

void bury_dead_block(size_t block) noexcept {
  BlockRecord& record = arena.blocks[block];
  {
    os::LockGuard guard(block_lock);  // neither release_dead_pages nor promotion is at work here
    if (record.state.load(std::memory_order_relaxed) != BlockState::kLive) return;
    record.state.store(BlockState::kPooled, std::memory_order_release);
    block_counters.pinned.fetch_add(1, std::memory_order_relaxed);
    block_counters.live.fetch_sub(1, std::memory_order_relaxed);
    block_counters.dead_pages_of_no_thread.fetch_sub(kPagesPerBlock, std::memory_order_relaxed);
  }
  if (is_pinned(block)) {
    if (core::knobs.debug || record.kind == core::BlockKind::kGuarded) {
      os::LockGuard guard(block_lock);
      release_pages(block, 1);
    }
    keep_for_pins(block);
    return;
  }
  finish_block(block);
  wake_maintenance();
}

bool release_huge(size_t block) noexcept {
  BlockRecord& record = arena.blocks[block];
  BlockState live = BlockState::kLive;
  // The first of two racing deletions wins.
  if (!record.state.compare_exchange_strong(live, BlockState::kPooled, std::memory_order_acq_rel)) return true;
  if (!is_pinned(block)) return end_huge(block);
  block_counters.pinned_huge.fetch_add(1, std::memory_order_relaxed);
  keep_for_pins(block);
  return true;
}

}  // namespace freehold::heap
