#include "heap/block_ends.h"

#include <algorithm>

#include "Platform/lock.h"
#include "core/arena.h"
#include "core/knobs.h"
#include "heap/accounting.h"
#include "heap/addresses.h"
#include "heap/block_lists.h"
#include "heap/block_protection.h"
#include "heap/mappings.h"

namespace freehold::heap {

using core::arena;
using core::BlockRecord;
using core::BlockState;
using core::kBlockSize;
using core::kPageSize;

namespace {

void set_gone(size_t block) noexcept { arena.blocks[block].state.store(BlockState::kGone, std::memory_order_release); }

// In BlockRecord::users, beside their number: the block is gone, and the last of them tells.
constexpr uint32_t kEnded = uint32_t{1} << 31;

// Whether it has no user, so that its address is nobody's from now on. Once for each block.
bool end_address(size_t block) noexcept { return arena.blocks[block].users.fetch_or(kEnded, std::memory_order_acq_rel) == 0; }

}  // namespace

void keep_record(size_t block) noexcept { arena.blocks[block].users.fetch_add(1, std::memory_order_relaxed); }

void let_record_go(size_t block) noexcept {
  if (arena.blocks[block].users.fetch_sub(1, std::memory_order_acq_rel) == (kEnded | 1)) core::note_gone(block, 1);
}

void end_blocks(size_t first, size_t count) noexcept {
  // Runs of those without a user, as neighbours are cheaper together.
  size_t run = 0;
  for (size_t i = 0; i < count; i++) {
    set_gone(first + i);
    if (end_address(first + i)) {
      run++;
      continue;
    }
    if (run != 0) core::note_gone(first + i - run, run);
    run = 0;
  }
  if (run != 0) core::note_gone(first + count - run, run);
}

void bury(size_t block) noexcept {
  if (!give_block_back(block)) forbid_reuse();
  set_gone(block);
  if (end_address(block)) core::note_gone(block, 1);
  block_counters.gone_bytes.fetch_add(kBlockSize, std::memory_order_relaxed);
}

void forget_pages(BlockRecord& record) noexcept {
  size_t released = 0;
  for (const auto& word : record.released) released += static_cast<size_t>(__builtin_popcountll(word.load(std::memory_order_relaxed)));
  block_counters.released_pages.fetch_sub(released, std::memory_order_relaxed);
  // Who comes with a page later takes its own count back.
  block_counters.dead_pages_of_no_thread.fetch_sub(record.dead_pages.exchange(core::kDeadPagesClosed, std::memory_order_acq_rel), std::memory_order_relaxed);
  block_counters.mapping_splits.fetch_sub(record.splits, std::memory_order_relaxed);
  record.splits = 0;
}

void finish_block(size_t block) noexcept {
  BlockRecord& record = arena.blocks[block];
  if (record.partly_released.load(std::memory_order_relaxed) || core::knobs.debug) {
    size_t released = 0;
    for (const auto& word : record.released) released += static_cast<size_t>(__builtin_popcountll(word.load(std::memory_order_relaxed)));
    {
      os::LockGuard guard(block_lock);
      block_counters.mapping_splits.fetch_sub(record.splits, std::memory_order_relaxed);
      record.splits = 0;
    }
    bury(block);
    block_counters.released_pages.fetch_sub(released, std::memory_order_relaxed);
    block_counters.pinned.fetch_sub(1, std::memory_order_relaxed);
    return;
  }
  os::LockGuard guard(block_lock);
  push_pooled(block);
  block_counters.pinned.fetch_sub(1, std::memory_order_relaxed);
}

size_t memory_of_huge(size_t block) noexcept { return size_t{arena.blocks[block].huge_pages} * kPageSize; }

namespace {

size_t blocks_of_huge(size_t block) noexcept { return (memory_of_huge(block) + kBlockSize - 1) / kBlockSize; }

}  // namespace

void begin_end_of_huge(size_t block) noexcept {
  for (size_t i = 0, count = blocks_of_huge(block); i < count; i++) set_gone(block + i);
}

void give_memory_of_huge_back(size_t block) noexcept {
  uint8_t* start = arena.block_start(block);
  size_t size = blocks_of_huge(block) * kBlockSize;
  // Beside live neighbours, which are one mapping with it: two mappings more, but for guards.
  if (are_mappings_short() && os::guard(start, size)) return;
  // Each call keeps all others out that change the address space, threads that take a block among them.
  constexpr size_t kPiece = size_t{32} << 20;
  for (size_t done = 0; done < size; done += kPiece) give_back_or_keep(start + done, std::min(kPiece, size - done));
}

void finish_end_of_huge(size_t block) noexcept {
  size_t memory = memory_of_huge(block), count = blocks_of_huge(block);
  core::note_gone(block, count);  // the record may be zero from here on
  block_counters.huge_bytes.fetch_sub(memory, std::memory_order_relaxed);
  block_counters.large_objects.fetch_sub(1, std::memory_order_relaxed);
  block_counters.huge_objects.fetch_sub(1, std::memory_order_relaxed);
  block_counters.gone_bytes.fetch_add(count * kBlockSize, std::memory_order_relaxed);
}

}  // namespace freehold::heap
