#include "heap/block_evacuation.h"

#include <algorithm>

#include "Platform/lock.h"
#include "core/arena.h"
#include "core/knobs.h"
#include "heap/accounting.h"
#include "heap/addresses.h"
#include "heap/block_ends.h"
#include "heap/block_lists.h"
#include "heap/block_protection.h"
#include "heap/block_walk.h"
#include "heap/dead_blocks.h"
#include "heap/mappings.h"
#include "heap/pins.h"
#include "os/kernel.h"
#include "os/watching.h"

namespace freehold::heap {

using core::arena;
using core::BlockKind;
using core::BlockRecord;
using core::BlockState;
using core::kBlockSize;
using core::kPagesPerBlock;

namespace {

// Blocks in the pool, or an eighth of those that live if that is more: promotion gives the frames of others to the system at once.
constexpr size_t kPooledByPromotion = 64;

}  // namespace

bool claim_for_evacuation(size_t block) noexcept {
  BlockRecord& record = arena.blocks[block];
  os::LockGuard guard(block_lock);
  if (record.state.load(std::memory_order_relaxed) != BlockState::kLive || record.kind != BlockKind::kSmall) return false;
  if (record.dead_pages.load(std::memory_order_acquire) == kPagesPerBlock) return false;
  record.state.store(BlockState::kEvacuating, std::memory_order_seq_cst);
  return true;
}

bool begin_evacuation(size_t block) noexcept {
  if (!is_pinned(block) && protect_from_writing(block)) return true;
  end_evacuation(block);
  return false;
}

void end_evacuation(size_t block) noexcept {
  BlockRecord& record = arena.blocks[block];
  record.state.store(BlockState::kLive, std::memory_order_seq_cst);
  // Those who found its last page dead meanwhile have left it to us.
  if (record.dead_pages.load(std::memory_order_seq_cst) == kPagesPerBlock) bury_dead_block(block);
}

void give_up_evacuation(size_t block) noexcept {
  allow_writing(block);
  end_evacuation(block);
}

bool forward_block(size_t block, uint32_t forwarding) noexcept {
  BlockRecord& record = arena.blocks[block];
  uint8_t* start = arena.block_start(block);
  size_t to = kNoBlock;
  bool inaccessible = false;
  // Where mappings are short, no frames move, and an address that is taken for them would take a mapping for good.
  if (!record.partly_released && !are_mappings_short()) {
    {
      os::LockGuard guard(block_lock);
      // A round may end thousands of blocks before the pool is trimmed, many more than threads take meanwhile.
      if (block_lists.pool_size < std::max<size_t>(kPooledByPromotion, block_counters.live.load(std::memory_order_relaxed) / 8)) to = next_address();
    }
    if (to != kNoBlock) {
      Move move = move_block(block, to);
      inaccessible = move != Move::kRefused;
      // The block is protected from writing. Where its frames keep that, it must go before they are used: once watched, stores would fault for ever.
      if (move == Move::kDone && is_watching() && os::moves_keep_protection() &&
          !(os::watch(arena.block_start(to), kBlockSize) && os::write_protect(arena.block_start(to), kBlockSize, false))) {
        give_back_or_keep(arena.block_start(to), kBlockSize);
        move = Move::kLost;
      }
      if (move != Move::kDone) {
        leave_unused(to, 1);
        to = kNoBlock;
      }
    }
  }
  if (!inaccessible && !give_block_back(block)) return false;
  // What the frames have left becomes like all that is dead, one mapping with it. Refused: it stays as it is, empty and watched or without access. Watched, a store through a stale
  // reference must find no place for a huge page, which the kernel clears before it looks who watches the address.
  if (inaccessible && !os::decommit(start, kBlockSize) && is_watching() && core::knobs.huge_pages) os::use_huge_pages(start, kBlockSize, false);
  {
    os::LockGuard guard(block_lock);
    forget_pages(record);
    record.forwarding = forwarding;
    record.state.store(BlockState::kForwarded, std::memory_order_release);
    block_counters.live.fetch_sub(1, std::memory_order_relaxed);
    block_counters.forwarded.fetch_add(1, std::memory_order_relaxed);
    block_counters.gone_bytes.fetch_add(kBlockSize, std::memory_order_relaxed);
    if (to != kNoBlock) {
      arena.blocks[to].dead_pages.store(kPagesPerBlock, std::memory_order_relaxed);
      arena.blocks[to].dirty = true;
      push_pooled(to);
      arena.blocks[to].state.store(BlockState::kPooled, std::memory_order_release);
    }
  }
  return true;
}

void retire_forwarded() noexcept {
  for_each_lower_block([](size_t block) noexcept {
    BlockRecord& record = arena.blocks[block];
    if (record.state.load(std::memory_order_acquire) != BlockState::kForwarded) return;
    os::LockGuard guard(block_lock);
    block_counters.forwarded.fetch_sub(1, std::memory_order_relaxed);
    push_moved(block);
  });
}

}  // namespace freehold::heap
