#include "heap/block_pool.h"

#include <algorithm>

#include "Platform/lock.h"
#include "core/arena.h"
#include "heap/accounting.h"
#include "heap/addresses.h"
#include "heap/block_ends.h"
#include "heap/block_lists.h"
#include "heap/block_protection.h"
#include "heap/mappings.h"
#include "os/kernel.h"

namespace freehold::heap {

using core::arena;
using core::kBlockSize;
using core::kPageSize;
using core::kPagesPerBlock;

namespace {

// After pop_prefaulted(). With the lock or without: nobody else knows the block.
void bury_prefaulted(size_t block) noexcept {
  bury(block);
  block_counters.starting.fetch_sub(1, std::memory_order_relaxed);
}

// Caller holds block_lock.
void drop_all_prefaulted() noexcept {
  for (size_t block = pop_prefaulted(); block != kNoBlock; block = pop_prefaulted()) bury_prefaulted(block);
}

}  // namespace

void drop_prefaulted_in_child() noexcept { drop_all_prefaulted(); }

bool lacks_room(size_t more) noexcept {
  if (!is_over_limit(more)) return false;
  drop_all_prefaulted();
  return is_over_limit(more);
}

bool commit_somehow(uint8_t* start, size_t size) noexcept {
  if (os::commit(start, size)) return true;
  if (note_refusal(mappings()) && os::commit(start, size)) return true;
  collapse_moved(0);
  if (os::commit(start, size)) return true;
  drop_prefaulted();
  trim_pool(0);
  return os::commit(start, size);
}

bool prefault_block(size_t at_most) noexcept {
  size_t block;
  {
    os::LockGuard guard(block_lock);
    if (are_mappings_short() || block_counters.prefaulted.load(std::memory_order_relaxed) >= at_most || block_lists.pool_head != kEndOfList ||
        is_over_limit(2 * kBlockSize) || are_addresses_short())
      return false;
    block = next_address();
    if (block == kNoBlock) return false;
    block_counters.prefaulted.fetch_add(1, std::memory_order_relaxed);
  }
  // A mapping of its own: a page fault in a mapping holds up whoever changes it, and through them everybody.
  uint8_t* start = arena.block_start(block);
  if (!os::keep_apart(start, kBlockSize, block % 2 != 0 ? os::MappingKind::kOdd : os::MappingKind::kEven) || !os::commit(start, kBlockSize)) {
    block_counters.prefaulted.fetch_sub(1, std::memory_order_relaxed);
    leave_unused(block, 1);
    return false;
  }
  for (size_t page = 0; page < kPagesPerBlock; page++) *reinterpret_cast<volatile uint8_t*>(start + page * kPageSize) = 0;
  os::LockGuard guard(block_lock);
  arena.blocks[block].next = block_lists.prefaulted_head;
  block_lists.prefaulted_head = static_cast<uint32_t>(block);
  return true;
}

void recount_prefaulted() noexcept {
  uint64_t waiting = 0;
  for (uint32_t block = block_lists.prefaulted_head; block != kEndOfList; block = arena.blocks[block].next) waiting++;
  block_counters.prefaulted.store(waiting, std::memory_order_relaxed);
  // Who was about to begin one, or to give it back, is not here.
  block_counters.starting.store(0, std::memory_order_relaxed);
}

void drop_prefaulted() noexcept {
  while (true) {
    size_t block;
    {
      os::LockGuard guard(block_lock);
      block = pop_prefaulted();
    }
    if (block == kNoBlock) return;
    bury_prefaulted(block);
  }
}

size_t trim_pool(size_t keep, size_t at_most) noexcept {
  size_t trimmed = 0;
  for (; trimmed < at_most; trimmed++) {
    size_t block;
    {
      os::LockGuard guard(block_lock);
      if (block_lists.pool_size <= keep) break;
      block = pop_pooled();
    }
    bury(block);
  }
  return trimmed;
}

size_t pool_without_surplus() noexcept {
  os::LockGuard guard(block_lock);
  block_lists.pool_minima[block_lists.pool_interval++ % kPoolIntervals] = block_lists.pool_minimum;
  block_lists.pool_minimum = block_lists.pool_size;
  size_t surplus = *std::min_element(block_lists.pool_minima, block_lists.pool_minima + kPoolIntervals);
  for (size_t& minimum : block_lists.pool_minima) minimum -= surplus;
  return surplus == 0 ? SIZE_MAX : block_lists.pool_size - surplus;
}

bool collapse_moved(size_t keep, size_t calls_at_most) noexcept {
  for (size_t calls = 0; calls < calls_at_most; calls++) {
    size_t first, count = 0;
    {
      os::LockGuard guard(block_lock);
      if (block_lists.moved_size <= keep) return false;
      // A run of neighbours in the list, which is what first in, first out leaves: one call for all of it.
      constexpr size_t kRunAtMost = 64;  // keeps the kernel's lock for less than 0.2 ms
      first = block_lists.moved_head;
      size_t last = first;
      do {
        block_lists.moved_head = arena.blocks[last].next;
        count++;
        block_lists.moved_size--;
        if (block_lists.moved_head == kEndOfList || count == kRunAtMost) break;
        if (block_lists.moved_head + 1 == first) {
          first = block_lists.moved_head;
          last = block_lists.moved_head;
        } else if (block_lists.moved_head == first + count) {
          last = block_lists.moved_head;
        } else {
          break;
        }
      } while (true);
      block_counters.moved.store(block_lists.moved_size, std::memory_order_relaxed);
    }
    // Refused: the mapping stays, empty and watched (or without access), which is as safe.
    if (!os::decommit(arena.block_start(first), count * kBlockSize)) note_accessible_dead_memory();
    end_blocks(first, count);
  }
  return true;
}

}  // namespace freehold::heap
