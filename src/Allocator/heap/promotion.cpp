// The least that moves objects, for the tests of the fault handler: no deletions meanwhile, no pins.
#include "heap/promotion.h"

#include <string.h>

#include "core/arena.h"
#include "core/object.h"
#include "heap/blocks.h"
#include "heap/chunks.h"
#include "heap/forwarding.h"
#include "heap/walk.h"
#include "platform/lock.h"
#include "platform/os.h"

namespace freehold::heap {

using core::arena;
using core::BlockKind;
using core::BlockRecord;
using core::BlockState;
using core::kBlockSize;
using core::kPagesPerBlock;
using core::kPageSize;
using core::kUnit;

namespace {

os::Lock promotion_lock;

// Bytes of live objects, or SIZE_MAX when the block is not complete.
size_t live_bytes(size_t block) noexcept {
  uint8_t* start = arena.block_start(block);
  size_t live = 0;
  for (size_t offset = 0; offset < kBlockSize;) {
    Walked object = look_at(start + offset);
    if (object.step == Step::kEnd || object.size == 0) return SIZE_MAX;
    if (object.step == Step::kObject && (object.header & core::kDeletedBit) == 0) live += object.size;
    offset += object.size;
  }
  return live;
}

// A block for copies, empty, its pages present.
size_t make_target() noexcept {
  size_t block = acquire_block(BlockKind::kSmall);
  if (block == kNoBlock) return block;
  BlockRecord& record = arena.blocks[block];
  memset(arena.block_start(block), 0, kBlockSize);
  record.claimed.store(~uint64_t{0});
  record.chunk_starts.store(1);
  arena.pages[block * kPagesPerBlock].first = 1;
  record.initialised.store(~uint64_t{0}, std::memory_order_release);
  return block;
}

}  // namespace

size_t promote_block(size_t block) noexcept {
  BlockRecord& record = arena.blocks[block];
  if (record.kind != BlockKind::kSmall || record.state.load() != BlockState::kLive || record.partly_released || record.initialised.load() != ~uint64_t{0}) return 0;
  size_t live = live_bytes(block);
  if (live == SIZE_MAX || live == 0) return 0;
  uint32_t number;
  Forwarding* forwarding = make_forwarding(&number);
  size_t target = forwarding == nullptr ? kNoBlock : make_target();
  if (target == kNoBlock) return 0;
  uint8_t* start = arena.block_start(block);
  uint8_t* copy = arena.block_start(target);
  forwarding->target[0] = reinterpret_cast<uintptr_t>(copy);
  forwarding->split = UINT32_MAX;
  if (os::has_userfaultfd()) os::watch(start, kBlockSize);
  record.state.store(BlockState::kFrozen);
  os::write_protect(start, kBlockSize);
  size_t moved = 0;
  for (size_t offset = 0; offset < kBlockSize;) {
    Walked object = look_at(start + offset);
    if (object.step == Step::kObject && (object.header & core::kDeletedBit) == 0) {
      memcpy(copy, start + offset, object.size);
      copy += object.size;
      moved++;
      for (size_t unit = offset / kUnit; unit < (offset + object.size) / kUnit; unit++) forwarding->live[unit / 64] |= uint64_t{1} << (unit % 64);
    }
    offset += object.size;
  }
  uint32_t rank = 0;
  for (size_t page = 0; page < kPagesPerBlock; page++) {
    forwarding->rank[page] = rank;
    for (size_t word = 0; word < core::kUnitsPerPage / 64; word++) rank += static_cast<uint32_t>(__builtin_popcountll(forwarding->live[page * (core::kUnitsPerPage / 64) + word]));
  }
  if (uint8_t* end = arena.block_start(target) + kBlockSize; copy < end) fill(copy, static_cast<size_t>(end - copy));
  os::decommit(start, kBlockSize);
  record.next = number;
  block_counters.live.fetch_sub(1);
  block_counters.dead_pages.fetch_sub(record.dead_pages.load());
  record.state.store(BlockState::kForwarded, std::memory_order_release);
  return moved;
}

size_t promote() noexcept {
  os::LockGuard guard(promotion_lock);
  size_t moved = 0;
  for (size_t block = 0, end = lower_frontier(); block < end; block++) moved += promote_block(block);
  return moved;
}

}  // namespace freehold::heap
