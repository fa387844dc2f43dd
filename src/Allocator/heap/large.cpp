#include "heap/large.h"

#include <string.h>

#include "Platform/lock.h"
#include "core/arena.h"
#include "core/knobs.h"
#include "core/module_state.h"
#include "heap/accounting.h"
#include "heap/block_ends.h"
#include "heap/blocks.h"
#include "heap/chunks.h"
#include "heap/dead_blocks.h"
#include "heap/dead_pages.h"
#include "heap/maintenance_signals.h"

namespace freehold::heap {

using core::arena;
using core::BlockKind;
using core::kPageSize;
using core::kPagesPerBlock;

namespace {

os::Lock lock;  // guards the two words below
struct State {
  size_t current_block = kNoBlock;
  size_t next_page = kPagesPerBlock;
};
constinit State state;
FREEHOLD_MODULE_STATE(state);

void touch(uint8_t* start, size_t pages) noexcept {
  for (size_t page = 0; page < pages; page++) *reinterpret_cast<volatile uint8_t*>(start + page * kPageSize) = 0;
}

// The rest of the current block is nobody's: its pages are dead. Caller holds the lock.
void retire_current_block() noexcept {
  if (state.current_block == kNoBlock) return;
  for (; state.next_page < kPagesPerBlock; state.next_page++) mark_page_dead(state.current_block * kPagesPerBlock + state.next_page);
  arena.blocks[state.current_block].populated.store(true, std::memory_order_release);
  state.current_block = kNoBlock;
}

}  // namespace

uint8_t* allocate_large(size_t size, bool dirty_is_fine) noexcept {
  if (size > core::kHugeObject) {
    size_t block = acquire_huge(size);
    return block == kNoBlock ? nullptr : arena.block_start(block);
  }
  size_t pages = (size + kPageSize - 1) / kPageSize, block, first;
  {
    os::LockGuard guard(lock);
    if (state.current_block == kNoBlock || kPagesPerBlock - state.next_page < pages) {
      retire_current_block();
      state.current_block = acquire_block(BlockKind::kLarge);
      if (state.current_block == kNoBlock) return nullptr;
      let_record_go(state.current_block);  // it does not die before it is full: maintenance asks here
      state.next_page = 0;
      if (core::knobs.debug) {
        // Single pages of this block die soon; to watch them, all must be there.
        touch(arena.block_start(state.current_block), kPagesPerBlock);
        arena.blocks[state.current_block].populated.store(true, std::memory_order_release);
      }
      arena.blocks[state.current_block].initialised.store(~uint64_t{0}, std::memory_order_release);
    }
    block = state.current_block;
    first = block * kPagesPerBlock + state.next_page;
    state.next_page += pages;
    // Under the lock: once the block is full it counts as populated. Frames of another block may lack pages too, where that had a filler on fresh memory.
    touch(arena.page_start(first), pages);
  }
  uint8_t* start = arena.page_start(first);
  if (arena.blocks[block].dirty) {
    // Walkers must not meet the last owner's objects: the header first, and what lies behind the object too.
    size_t kept = dirty_is_fine ? core::kMinimumObjectSize : size;
    memset(start, 0, kept);
    memset(start + size, 0, pages * kPageSize - size);
  }
  if (size % kPageSize != 0) {
    auto* rest = reinterpret_cast<uint64_t*>(start + size);
    *rest = uint64_t{pages * kPageSize - size} << 32 | core::kFillerBit | core::kDeletedBit;
    __atomic_store_n(&arena.pages[first + pages - 1].deleted, static_cast<uint16_t>((pages * kPageSize - size) / core::kUnit), __ATOMIC_RELAXED);
  }
  __atomic_store_n(&arena.pages[first].first, uint16_t{1}, __ATOMIC_RELEASE);
  block_counters.large_objects.fetch_add(1, std::memory_order_relaxed);
  return start;
}

bool release_large(uint8_t* start, size_t size) noexcept {
  auto address = reinterpret_cast<uintptr_t>(start);
  size_t block = arena.block_index(address);
  if (!arena.in_lower_half(address)) return release_huge(block);
  block_counters.large_objects.fetch_sub(1, std::memory_order_relaxed);
  size_t first = arena.page_index(address), pages = (size + kPageSize - 1) / kPageSize;
  for (size_t page = first; page < first + pages; page++) mark_page_dead(page);
  if (core::knobs.debug) {
    release_dead_pages(block, 1);
    if (has_blocks_that_wait_for_pins()) wake_maintenance();
  }
  return true;
}

void for_rest_of_large(void (*fn)(uint8_t* start, const uint8_t* end) noexcept) noexcept {
  os::LockGuard guard(lock);
  if (state.current_block != kNoBlock)
    fn(arena.page_start(state.current_block * kPagesPerBlock + state.next_page), arena.block_start(state.current_block) + core::kBlockSize);
}

void retire_idle_large_block() noexcept {
  os::LockGuard guard(lock);
  if (state.current_block != kNoBlock && arena.blocks[state.current_block].dead_pages.load(std::memory_order_acquire) == state.next_page)
    retire_current_block();
}

}  // namespace freehold::heap
