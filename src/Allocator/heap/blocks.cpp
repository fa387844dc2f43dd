#include "heap/blocks.h"

#include "Platform/lock.h"
#include "core/knobs.h"
#include "heap/accounting.h"
#include "heap/addresses.h"
#include "heap/block_ends.h"
#include "heap/block_lists.h"
#include "heap/block_pool.h"
#include "heap/block_protection.h"
#include "heap/maintenance_signals.h"
#include "heap/mappings.h"
#include "heap/new_blocks.h"
#include "heap/notices.h"
#include "heap/prefault_policy.h"
#include "heap/promotion_policy.h"
#include "heap/reclaim_policy.h"
#include "heap/thread_heap.h"
#include "heap/young_blocks.h"
#include "os/kernel.h"

namespace freehold::heap {

using core::arena;
using core::BlockKind;
using core::BlockRecord;
using core::BlockState;
using core::kBlockSize;
using core::kPageSize;

namespace {

// Inline collapse, when the maintenance thread does not keep up: in cooperative mode, so a few calls for each block.
constexpr size_t kMovedAtMost = 4096, kCollapsesAtMost = 16;
// Dead blocks that may be pinned, before an allocation has the maintenance thread look.
constexpr size_t kPinnedAtMost = 4;

// What a huge object takes: its last block has small pages only.
size_t huge_memory(size_t bytes) noexcept { return (bytes + kPageSize - 1) & ~(kPageSize - 1); }

void start_life(size_t block, BlockKind kind, bool dirty, bool backed) noexcept {
  BlockRecord& record = arena.blocks[block];
  record.kind.store(kind, std::memory_order_relaxed);
  record.dirty = dirty;
  record.backed = backed;
  record.users.store(1, std::memory_order_relaxed);
  note_young_block(block);
  record.state.store(BlockState::kLive, std::memory_order_seq_cst);
  note_new_block(block);
  block_counters.live.fetch_add(1, std::memory_order_relaxed);
  block_counters.starting.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace

size_t acquire_block(BlockKind kind, BlockUse use) noexcept {
  const bool promoted = use == BlockUse::kPromoted;
  // Its pages go one by one: frames of huge pages would split. And nothing is given up for it: neither an address nor what was prefaulted or pooled.
  const bool guarded = kind == BlockKind::kGuarded;
  size_t block = kNoBlock, frames = kNoBlock;
  bool collapse, wanted, prefaulted, reserved = false;
  // What throws an OutOfMemoryException, and handles it, has memory that is mapped already. (Copies must not lie there.)
  auto take_from_reserve = [use, kind]() noexcept {
    bool may_be = thread_heap.emergency != 0 && (use == BlockUse::kShared || kind == BlockKind::kLarge);
    return may_be ? next_reserve_block(is_reserve_mapped()) : kNoBlock;
  };
  {
    os::LockGuard guard(block_lock);
    if (guarded && !has_room_to_spare(kBlockSize)) return kNoBlock;
    bool pooled = block_lists.pool_head != kEndOfList && !core::knobs.debug && !guarded;
    // In stress modes all blocks of small objects are shared.
    if (!pooled && !guarded && (use == BlockUse::kOneThread || (use == BlockUse::kShared && core::knobs.stress.moves()))) block = pop_prefaulted();
    prefaulted = block != kNoBlock;
    if (!prefaulted) {
      // Asked before an address is taken: one that nobody uses parts its neighbours' mappings for good.
      if (!pooled && !guarded && lacks_room(kBlockSize)) return kNoBlock;
      auto next = [promoted]() noexcept { return promoted ? next_promoted_address() : next_address(thread_heap.emergency != 0); };
      block = next();
      if (block == kNoBlock && !guarded && note_refusal(mappings())) block = next();  // the tables take mappings too
      if (block == kNoBlock) {
        if (pooled && lacks_room(kBlockSize)) return kNoBlock;
        block = take_from_reserve();
        if (block == kNoBlock) return kNoBlock;
        reserved = true;
      }
      if (pooled && !reserved) frames = pop_pooled();
      // Counted before the next thread asks how far the limit is.
      block_counters.starting.fetch_add(1, std::memory_order_relaxed);
    }
    collapse = block_lists.moved_size > kMovedAtMost;
    // Frames are there, but for pins that may have gone: threads that pin what they allocate would live on fresh memory.
    wanted = frames == kNoBlock && block_counters.pinned.load(std::memory_order_relaxed) >= kPinnedAtMost;
  }
  if (wanted && has_blocks_that_wait_for_pins()) hurry_maintenance();
  if (!promoted && (should_promote() || should_reclaim() || is_notice_due())) {
    // The heap goes on to another block while some are sparse: their deletions have woken nobody as long as no page died. Or nobody deletes.
    call_maintenance();
  }
  if (frames != kNoBlock) {
    if (move_block(frames, block) == Move::kDone) {
      {
        os::LockGuard guard(block_lock);
        push_moved(frames);
      }
      block_counters.gone_bytes.fetch_add(kBlockSize, std::memory_order_relaxed);
      block_counters.recycled.fetch_add(1, std::memory_order_relaxed);
      start_life(block, kind, true, true);
      if (collapse) {
        collapse_moved(kMovedAtMost / 2, kCollapsesAtMost);
        call_maintenance();
      }
      return block;
    }
    bury(frames);
  }
  if (!promoted) note_growth();
  if (prefaulted) {
    block_counters.fresh.fetch_add(1, std::memory_order_relaxed);
    block_counters.prefaulted_taken.fetch_add(1, std::memory_order_relaxed);
    start_life(block, kind, false, true);
    return block;
  }
  if (use == BlockUse::kShared && core::knobs.huge_pages && !are_mappings_short() && !reserved) os::use_huge_pages(arena.block_start(block), kBlockSize, false);
  if (!reserved && !(guarded ? os::commit(arena.block_start(block), kBlockSize) : commit_somehow(arena.block_start(block), kBlockSize))) {
    leave_unused(block, 1);
    block = take_from_reserve();
    if (block == kNoBlock) {
      block_counters.starting.fetch_sub(1, std::memory_order_relaxed);
      return kNoBlock;
    }
  }
  block_counters.fresh.fetch_add(1, std::memory_order_relaxed);
  start_life(block, kind, false, use != BlockUse::kShared && core::knobs.huge_pages && block >= kSmallStart);
  return block;
}

size_t acquire_huge(size_t bytes) noexcept {
  size_t count = (bytes + kBlockSize - 1) / kBlockSize, block;
  if (huge_memory(bytes) / kPageSize > UINT32_MAX) return kNoBlock;  // BlockRecord::huge_pages: 16 TB
  {
    os::LockGuard guard(block_lock);
    if (lacks_room(huge_memory(bytes))) return kNoBlock;
    block = next_huge_address(count);
    if (block == kNoBlock && note_refusal(mappings())) block = next_huge_address(count);
    if (block == kNoBlock) return kNoBlock;
    block_counters.huge_bytes.fetch_add(huge_memory(bytes), std::memory_order_relaxed);
  }
  // Huge pages where the object fills them.
  if (core::knobs.huge_pages && bytes >= kBlockSize && !are_mappings_short())
    os::use_huge_pages(arena.block_start(block), bytes / kBlockSize * kBlockSize, true);
  if (!commit_somehow(arena.block_start(block), count * kBlockSize)) {
    block_counters.huge_bytes.fetch_sub(huge_memory(bytes), std::memory_order_relaxed);
    leave_unused(block, count);
    return kNoBlock;
  }
  for (size_t i = 1; i < count; i++) {
    arena.blocks[block + i].kind.store(BlockKind::kHugeTail, std::memory_order_relaxed);
    arena.blocks[block + i].next = static_cast<uint32_t>(i);
    arena.blocks[block + i].state.store(BlockState::kLive, std::memory_order_release);
  }
  BlockRecord& record = arena.blocks[block];
  record.kind.store(BlockKind::kHuge, std::memory_order_relaxed);
  record.huge_pages = static_cast<uint32_t>(huge_memory(bytes) / kPageSize);
  record.initialised.store(~uint64_t{0}, std::memory_order_relaxed);
  record.state.store(BlockState::kLive, std::memory_order_seq_cst);
  note_new_block(block);
  block_counters.large_objects.fetch_add(1, std::memory_order_relaxed);
  block_counters.huge_objects.fetch_add(1, std::memory_order_relaxed);
  if (should_reclaim() || is_notice_due()) call_maintenance();
  return block;
}

}  // namespace freehold::heap
