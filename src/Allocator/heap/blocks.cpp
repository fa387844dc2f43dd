#include "heap/blocks.h"

#include <algorithm>
#include <bit>
#include <new>

#include "core/knobs.h"
#include "heap/addresses.h"
#include "heap/maintenance_signals.h"
#include "heap/mappings.h"
#include "heap/pins.h"
#include "heap/prefault_policy.h"
#include "heap/promotion_policy.h"
#include "heap/reclaim_policy.h"
#include "heap/thread_heap.h"
#include "heap/walk.h"
#include "platform/lock.h"
#include "platform/os.h"
#include "platform/watching.h"

namespace freehold::heap {

using core::arena;
using core::BlockKind;
using core::BlockRecord;
using core::BlockState;
using core::kBlockSize;
using core::kPagesPerBlock;
using core::kPageSize;
using core::kWindowSize;

namespace {

constexpr uint32_t kEndOfList = UINT32_MAX;
// Inline collapse, when the maintenance thread does not keep up.
constexpr size_t kMovedAtMost = 4096;
// Blocks in the pool, or an eighth of those that live if that is more: promotion gives the frames of others to the system at once.
constexpr size_t kPooledByPromotion = 64;
// Dead blocks that may be pinned, before an allocation has the maintenance thread look.
constexpr size_t kPinnedAtMost = 4;

os::Lock lock;  // guards everything below, and the state and list links of blocks
uint32_t pool_head = kEndOfList;
size_t pool_size = 0;
// The pool's smallest sizes: since the last look at its surplus, and in the intervals before. A round of promotion fills the pool for a hundred
// milliseconds or more of allocation; what it fills in vain is not there for long.
size_t pool_minimum = 0;
constexpr size_t kPoolIntervals = 8;
size_t pool_minima[kPoolIntervals] = {};
size_t pool_interval = 0;
uint32_t moved_head = kEndOfList;
size_t moved_size = 0;
uint32_t prefaulted_head = kEndOfList;  // fresh blocks that wait with their memory
uint32_t pinned_head = kEndOfList;  // dead blocks and huge objects that wait for their pins

bool use_userfaultfd = false;
bool reserve_is_mapped = false;  // heap/addresses.h; written before there are threads

enum class Move { kDone, kLost, kRefused };
// Moves the frames of a block to a fresh address. From the moment that they are moved, the old address faults: userfaultfd watches it already;
// without, it loses its access rights first. kLost: the old address faults, but nothing usable is at the new one. kRefused: the frames are
// where they were.
Move move_block(size_t from, size_t to) noexcept {
  uint8_t* source = arena.block_start(from);
  uint8_t* target = arena.block_start(to);
  if (!begin_move()) return Move::kRefused;
  struct Moving {
    ~Moving() { end_move(); }
  } moving;
  if (use_userfaultfd) {
    // The kernel makes one mapping of what was one once: of frames and the empty mapping beside their new address which their old neighbours have left.
    // It would not watch any of it from then on (Linux 6.18), and a stale reference would read zeros. So every second block, counted by the place
    // where its frames were taken, has another kind of mapping.
    if (from % 2 != 0 && !arena.blocks[from].dirty && !os::keep_apart(source, kBlockSize, os::MappingKind::kOdd)) return Move::kRefused;
    return os::watch(source, kBlockSize) && os::move_frames(source, target, kBlockSize) ? Move::kDone : Move::kRefused;
  }
  if (!os::protect_none(source, kBlockSize) || !os::move_frames(source, target, kBlockSize)) return Move::kRefused;
  if (os::protect_read_write(target, kBlockSize)) return Move::kDone;
  os::decommit(target, kBlockSize);
  return Move::kLost;
}

void set_gone(size_t block) noexcept { arena.blocks[block].state.store(BlockState::kGone, std::memory_order_release); }

// In BlockRecord::holders, beside their number: the block is gone, and the last of them tells.
constexpr uint32_t kEnded = uint32_t{1} << 31;

// Whether nobody holds it, so that its address is nobody's from now on. Once for each block.
bool end_address(size_t block) noexcept { return arena.blocks[block].holders.fetch_or(kEnded, std::memory_order_acq_rel) == 0; }

// What a huge object takes: its last block has small pages only.
size_t huge_memory(size_t bytes) noexcept { return (bytes + kPageSize - 1) & ~(kPageSize - 1); }

size_t pop_pooled() noexcept {
  if (pool_head == kEndOfList) return kNoBlock;
  size_t block = pool_head;
  pool_head = arena.blocks[block].next;
  pool_size--;
  if (pool_size < pool_minimum) pool_minimum = pool_size;
  block_counters.pooled.store(pool_size, std::memory_order_relaxed);
  return block;
}

// A block that waits with its memory. It counts as `starting` from here on, for a moment in both counts. Caller holds the lock.
size_t pop_prefaulted() noexcept {
  if (prefaulted_head == kEndOfList) return kNoBlock;
  size_t block = prefaulted_head;
  prefaulted_head = arena.blocks[block].next;
  arena.blocks[block].next = 0;
  block_counters.starting.fetch_add(1, std::memory_order_relaxed);
  block_counters.prefaulted.fetch_sub(1, std::memory_order_relaxed);
  return block;
}

void start_life(size_t block, BlockKind kind, bool dirty, bool backed) noexcept {
  BlockRecord& record = arena.blocks[block];
  record.kind = kind;
  record.dirty = dirty;
  record.backed = backed;
  record.holders.store(1, std::memory_order_relaxed);
  record.state.store(BlockState::kLive, std::memory_order_release);
  block_counters.live.fetch_add(1, std::memory_order_relaxed);
  block_counters.starting.fetch_sub(1, std::memory_order_relaxed);
}

bool is_full(const BlockRecord& record) noexcept { return record.kind == BlockKind::kLarge ? record.populated.load(std::memory_order_acquire) : record.initialised.load(std::memory_order_acquire) == ~uint64_t{0}; }

// When mappings are short: watches a block and those of its neighbours that live, are full, and have the memory that they were born with. It all becomes one
// mapping, with other runs that are watched already. Full means that all pages have memory, but for what nobody reads: so nothing that lives faults.
bool watch_with_neighbours(size_t block) noexcept {
  constexpr size_t kFarthest = 64;
  auto joins = [](size_t neighbour) noexcept {
    const BlockRecord& record = arena.blocks[neighbour];
    return record.state.load(std::memory_order_acquire) == BlockState::kLive && (record.kind == BlockKind::kSmall || record.kind == BlockKind::kLarge) && !record.dirty && is_full(record);
  };
  constexpr size_t kHalf = core::kBlocksInGeneration0;
  size_t first = block, end = block + 1;
  while (first % kHalf != 0 && block - first < kFarthest && joins(first - 1)) first--;
  while (end % kHalf != 0 && end - block < kFarthest && joins(end)) end++;
  return os::watch(arena.block_start(first), (end - first) * kBlockSize);
}

// Makes dead memory inaccessible and gives it back. Where the kernel refuses (too many mappings, before Linux 6.13), it stays as it is: deleted objects
// behave as if they were alive. It must never be discarded while it is accessible: a stale reference would read zeros.
bool give_back(uint8_t* start, size_t size) noexcept {
  return os::decommit(start, size) || (use_userfaultfd && os::watch(start, size) && os::discard(start, size)) || os::guard(start, size);
}

// The same for a block of the lower half, with as few mappings as may be.
bool give_block_back(size_t block) noexcept {
  uint8_t* start = arena.block_start(block);
  if (use_userfaultfd && are_mappings_short() && !arena.blocks[block].dirty && watch_with_neighbours(block) && os::discard(start, kBlockSize)) return true;
  return give_back(start, kBlockSize);
}

void give_back_or_keep(uint8_t* start, size_t size) noexcept {
  if (!give_back(start, size)) forbid_reuse();
}

// Gives a block's memory back for good.
void bury(size_t block) noexcept {
  if (!give_block_back(block)) forbid_reuse();
  set_gone(block);
  if (end_address(block)) core::note_gone(block, 1);
  block_counters.gone_bytes.fetch_add(kBlockSize, std::memory_order_relaxed);
}

// After pop_prefaulted(). With the lock or without: nobody else knows the block.
void bury_prefaulted(size_t block) noexcept {
  bury(block);
  block_counters.starting.fetch_sub(1, std::memory_order_relaxed);
}

// Whether the limit forbids it. Memory that waits for somebody does not count. Caller holds the lock.
bool lacks_room(size_t more) noexcept {
  if (!is_over_limit(more)) return false;
  for (size_t block = pop_prefaulted(); block != kNoBlock; block = pop_prefaulted()) bury_prefaulted(block);
  return is_over_limit(more);
}

// A block that ends its life takes its pages out of the accounts. Caller holds the lock.
void forget_pages(BlockRecord& record) noexcept {
  size_t released = 0;
  for (const auto& word : record.released) released += static_cast<size_t>(__builtin_popcountll(word.load(std::memory_order_relaxed)));
  block_counters.released_pages.fetch_sub(released, std::memory_order_relaxed);
  // Who comes with a page later takes its own count back.
  block_counters.dead_pages_of_no_thread.fetch_sub(record.dead_pages.exchange(core::kDeadPagesClosed, std::memory_order_acq_rel), std::memory_order_relaxed);
  block_counters.mapping_splits.fetch_sub(record.splits, std::memory_order_relaxed);
  record.splits = 0;
}

// The block's frames wait for their next use. Caller holds the lock.
void make_pooled(size_t block) noexcept {
  BlockRecord& record = arena.blocks[block];
  record.next = pool_head;
  pool_head = static_cast<uint32_t>(block);
  pool_size++;
  block_counters.pooled.store(pool_size, std::memory_order_relaxed);
  record.state.store(BlockState::kPooled, std::memory_order_release);
}

// Calls function(start, size) for each run of pages that have memory, until it returns false.
template <typename Function>
bool for_each_run_with_memory(size_t block, Function function) noexcept {
  const BlockRecord& record = arena.blocks[block];
  auto released = [&](size_t page) noexcept { return (record.released[page / 64].load(std::memory_order_acquire) >> (page % 64) & 1) != 0; };
  for (size_t page = 0; page < kPagesPerBlock; page++) {
    if (released(page)) continue;
    size_t end = page;
    while (end < kPagesPerBlock && !released(end)) end++;
    if (!function(arena.block_start(block) + page * kPageSize, (end - page) * kPageSize)) return false;
    page = end;
  }
  return true;
}

// Readers go on, writers fault. With mprotect, pages without memory must stay without access.
bool protect_from_writing(size_t block) noexcept {
  uint8_t* start = arena.block_start(block);
  if (use_userfaultfd) return (are_mappings_short() ? watch_with_neighbours(block) : os::watch(start, kBlockSize)) && os::write_protect(start, kBlockSize, true);
  if (!arena.blocks[block].partly_released.load(std::memory_order_relaxed)) return os::protect_read(start, kBlockSize);
  return for_each_run_with_memory(block, [](uint8_t* run, size_t size) noexcept { return os::protect_read(run, size); });
}

bool allow_writing(size_t block) noexcept {
  uint8_t* start = arena.block_start(block);
  if (use_userfaultfd) return os::write_protect(start, kBlockSize, false);
  if (!arena.blocks[block].partly_released.load(std::memory_order_relaxed)) return os::lift_protection(start, kBlockSize);
  return for_each_run_with_memory(block, [](uint8_t* run, size_t size) noexcept { return os::lift_protection(run, size); });
}

// What becomes of a dead block that nothing pins: its frames are pooled, or go. It is in no list.
void finish_block(size_t block) noexcept {
  BlockRecord& record = arena.blocks[block];
  if (record.partly_released.load(std::memory_order_relaxed) || core::knobs.debug) {
    size_t released = 0;
    for (const auto& word : record.released) released += static_cast<size_t>(__builtin_popcountll(word.load(std::memory_order_relaxed)));
    {
      os::LockGuard guard(lock);
      block_counters.mapping_splits.fetch_sub(record.splits, std::memory_order_relaxed);
      record.splits = 0;
    }
    bury(block);
    block_counters.released_pages.fetch_sub(released, std::memory_order_relaxed);
    block_counters.pinned.fetch_sub(1, std::memory_order_relaxed);
    return;
  }
  os::LockGuard guard(lock);
  record.next = pool_head;
  pool_head = static_cast<uint32_t>(block);
  pool_size++;
  block_counters.pooled.store(pool_size, std::memory_order_relaxed);
  block_counters.pinned.fetch_sub(1, std::memory_order_relaxed);
}

void finish_huge(size_t block) noexcept {
  BlockRecord& record = arena.blocks[block];
  size_t memory = size_t{record.huge_pages} * kPageSize;
  size_t count = (memory + kBlockSize - 1) / kBlockSize;
  for (size_t i = 0; i < count; i++) set_gone(block + i);
  // Beside live neighbours, which are one mapping with it: two mappings more, but for guards.
  uint8_t* start = arena.block_start(block);
  if (!are_mappings_short() || !os::guard(start, count * kBlockSize)) give_back_or_keep(start, count * kBlockSize);
  core::note_gone(block, count);  // the record may be zero from here on
  block_counters.huge_bytes.fetch_sub(memory, std::memory_order_relaxed);
  block_counters.large_objects.fetch_sub(1, std::memory_order_relaxed);
  block_counters.huge_objects.fetch_sub(1, std::memory_order_relaxed);
  block_counters.gone_bytes.fetch_add(count * kBlockSize, std::memory_order_relaxed);
}

// A dead block that may be pinned stays as it is, for now.
void keep_for_pins(size_t block) noexcept {
  {
    os::LockGuard guard(lock);
    arena.blocks[block].next = pinned_head;
    pinned_head = static_cast<uint32_t>(block);
  }
  note_unpinned();  // its last handle may have been freed before it was on the list
  wake_maintenance();
}

bool is_huge(size_t block) noexcept { return arena.blocks[block].kind == BlockKind::kHuge; }

// Blocks of small and large objects that live and whose dead pages wait for pins.
template <typename Function>
void for_each_held_block(Function function) noexcept {
  for_each_lower_block([&](size_t block) noexcept {
    if (arena.blocks[block].state.load(std::memory_order_acquire) == BlockState::kLive && arena.blocks[block].release_waits.load(std::memory_order_relaxed)) function(block);
  });
}

}  // namespace

bool initialize_protection() noexcept {
  // It takes no memory.
  reserve_is_mapped = os::commit(arena.block_start(kReserveStart), (core::kBlocksPerGroup - kReserveStart) * kBlockSize);
  if (core::knobs.protection == core::Protection::kMprotect) return true;
  use_userfaultfd = os::start_watching();
  return use_userfaultfd || core::knobs.protection == core::Protection::kAuto;
}

namespace {

// Where the kernel refuses, the usual reason is too many mappings: those that nothing needs go first. No locks.
bool commit_somehow(uint8_t* start, size_t size) noexcept {
  if (os::commit(start, size)) return true;
  if (note_refusal(mappings()) && os::commit(start, size)) return true;
  collapse_moved(0);
  if (os::commit(start, size)) return true;
  drop_prefaulted();
  trim_pool(0);
  return os::commit(start, size);
}

}  // namespace

bool stop_watching() noexcept {
  bool did = use_userfaultfd;
  use_userfaultfd = false;
  return did;
}

void hold_block(size_t block) noexcept { arena.blocks[block].holders.fetch_add(1, std::memory_order_relaxed); }

void unhold_block(size_t block) noexcept {
  if (arena.blocks[block].holders.fetch_sub(1, std::memory_order_acq_rel) == (kEnded | 1)) core::note_gone(block, 1);
}

size_t acquire_block(BlockKind kind, BlockUse use) noexcept {
  const bool promoted = use == BlockUse::kPromoted;
  size_t block = kNoBlock, frames = kNoBlock;
  bool collapse, wanted, prefaulted;
  {
    os::LockGuard guard(lock);
    bool pooled = pool_head != kEndOfList && !core::knobs.debug;
    // In stress modes all blocks of small objects are shared.
    if (!pooled && (use == BlockUse::kOneThread || (use == BlockUse::kShared && core::knobs.stress.moves()))) block = pop_prefaulted();
    prefaulted = block != kNoBlock;
    if (!prefaulted) {
      auto next = [promoted]() noexcept { return promoted ? next_promoted_address() : next_address(thread_heap.emergency != 0); };
      block = next();
      if (block == kNoBlock && note_refusal(mappings())) block = next();  // the tables take mappings too
      if (block == kNoBlock) return kNoBlock;
      if (pooled) {
        frames = pop_pooled();
      } else if (lacks_room(kBlockSize)) {
        core::note_gone(block, 1);  // the address stays unused
        return kNoBlock;
      }
      // Counted before the next thread asks how far the limit is.
      block_counters.starting.fetch_add(1, std::memory_order_relaxed);
    }
    collapse = moved_size > kMovedAtMost;
    // Frames are there, but for pins that may have gone: threads that pin what they allocate would live on fresh memory.
    wanted = frames == kNoBlock && block_counters.pinned.load(std::memory_order_relaxed) >= kPinnedAtMost;
  }
  if (wanted && has_blocks_that_wait_for_pins()) hurry_maintenance();
  if (!promoted && (should_promote() || should_reclaim())) {
    // The heap goes on to another block while some are sparse: their deletions have woken nobody as long as no page died. Or nobody deletes.
    call_maintenance();
  }
  if (frames != kNoBlock) {
    if (move_block(frames, block) == Move::kDone) {
      {
        os::LockGuard guard(lock);
        arena.blocks[frames].next = moved_head;
        moved_head = static_cast<uint32_t>(frames);
        moved_size++;
        arena.blocks[frames].state.store(BlockState::kMoved, std::memory_order_release);
        block_counters.moved.store(moved_size, std::memory_order_relaxed);
      }
      block_counters.gone_bytes.fetch_add(kBlockSize, std::memory_order_relaxed);
      block_counters.recycled.fetch_add(1, std::memory_order_relaxed);
      start_life(block, kind, true, true);
      if (collapse) collapse_moved(kMovedAtMost / 2);
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
  if (use == BlockUse::kShared && core::knobs.huge_pages && !are_mappings_short()) os::use_huge_pages(arena.block_start(block), kBlockSize, false);
  if (!commit_somehow(arena.block_start(block), kBlockSize)) {
    core::note_gone(block, 1);
    // What throws an OutOfMemoryException has memory that is mapped already. (Copies must not lie there.)
    bool may_be_reserve = use == BlockUse::kShared || kind == BlockKind::kLarge;
    block = thread_heap.emergency != 0 && may_be_reserve && reserve_is_mapped ? next_reserve_block() : kNoBlock;
    if (block == kNoBlock) {
      block_counters.starting.fetch_sub(1, std::memory_order_relaxed);
      return kNoBlock;
    }
  }
  block_counters.fresh.fetch_add(1, std::memory_order_relaxed);
  start_life(block, kind, false, use != BlockUse::kShared && core::knobs.huge_pages && block >= kSmallStart);
  return block;
}

bool prefault_block(size_t at_most) noexcept {
  size_t block;
  {
    os::LockGuard guard(lock);
    if (are_mappings_short() || block_counters.prefaulted.load(std::memory_order_relaxed) >= at_most || pool_head != kEndOfList || is_over_limit(2 * kBlockSize) || are_addresses_short()) return false;
    block = next_address();
    if (block == kNoBlock) return false;
    block_counters.prefaulted.fetch_add(1, std::memory_order_relaxed);
  }
  // A mapping of its own: a page fault in a mapping holds up whoever changes it, and through them everybody.
  uint8_t* start = arena.block_start(block);
  if (!os::keep_apart(start, kBlockSize, block % 2 != 0 ? os::MappingKind::kOdd : os::MappingKind::kEven) || !os::commit(start, kBlockSize)) {
    block_counters.prefaulted.fetch_sub(1, std::memory_order_relaxed);
    core::note_gone(block, 1);
    return false;
  }
  for (size_t page = 0; page < kPagesPerBlock; page++) *reinterpret_cast<volatile uint8_t*>(start + page * kPageSize) = 0;
  os::LockGuard guard(lock);
  arena.blocks[block].next = prefaulted_head;
  prefaulted_head = static_cast<uint32_t>(block);
  return true;
}

void drop_prefaulted() noexcept {
  while (true) {
    size_t block;
    {
      os::LockGuard guard(lock);
      block = pop_prefaulted();
    }
    if (block == kNoBlock) return;
    bury_prefaulted(block);
  }
}

size_t acquire_huge(size_t bytes) noexcept {
  size_t count = (bytes + kBlockSize - 1) / kBlockSize, block;
  if (huge_memory(bytes) / kPageSize > UINT32_MAX) return kNoBlock;  // BlockRecord::huge_pages: 16 TB
  {
    os::LockGuard guard(lock);
    if (lacks_room(huge_memory(bytes))) return kNoBlock;
    block = next_huge_address(count);
    if (block == kNoBlock && note_refusal(mappings())) block = next_huge_address(count);
    if (block == kNoBlock) return kNoBlock;
    block_counters.huge_bytes.fetch_add(huge_memory(bytes), std::memory_order_relaxed);
  }
  // Huge pages where the object fills them.
  if (core::knobs.huge_pages && bytes >= kBlockSize && !are_mappings_short()) os::use_huge_pages(arena.block_start(block), bytes / kBlockSize * kBlockSize, true);
  if (!commit_somehow(arena.block_start(block), count * kBlockSize)) {
    block_counters.huge_bytes.fetch_sub(huge_memory(bytes), std::memory_order_relaxed);
    core::note_gone(block, count);
    return kNoBlock;
  }
  for (size_t i = 1; i < count; i++) {
    arena.blocks[block + i].kind = BlockKind::kHugeTail;
    arena.blocks[block + i].next = static_cast<uint32_t>(i);
    arena.blocks[block + i].state.store(BlockState::kLive, std::memory_order_release);
  }
  BlockRecord& record = arena.blocks[block];
  record.kind = BlockKind::kHuge;
  record.huge_pages = static_cast<uint32_t>(huge_memory(bytes) / kPageSize);
  record.initialised.store(~uint64_t{0}, std::memory_order_relaxed);
  record.state.store(BlockState::kLive, std::memory_order_release);
  block_counters.large_objects.fetch_add(1, std::memory_order_relaxed);
  block_counters.huge_objects.fetch_add(1, std::memory_order_relaxed);
  if (should_reclaim()) call_maintenance();
  return block;
}

void release_huge(size_t block) noexcept {
  BlockRecord& record = arena.blocks[block];
  BlockState live = BlockState::kLive;
  // The first of two racing deletions wins.
  if (!record.state.compare_exchange_strong(live, BlockState::kPooled, std::memory_order_acq_rel)) return;
  if (is_pinned(block)) {
    block_counters.pinned_huge.fetch_add(1, std::memory_order_relaxed);
    keep_for_pins(block);
  } else {
    finish_huge(block);
  }
}

namespace {

// Pages at the start of a block all of which have memory, have lost it, or are dead: userfaultfd takes one that never had any for a dead one.
size_t populated_pages(const BlockRecord& record) noexcept {
  if (record.kind == BlockKind::kLarge) return record.populated.load(std::memory_order_acquire) ? kPagesPerBlock : 0;
  return static_cast<size_t>(std::countr_one(record.initialised.load(std::memory_order_acquire))) * (kWindowSize / kPageSize);
}

// Caller holds the lock.
size_t release_pages(size_t block, size_t minimum_run) noexcept {
  BlockRecord& record = arena.blocks[block];
  auto bit = [](const std::atomic<uint64_t>* words, size_t page) noexcept { return (words[page / 64].load(std::memory_order_acquire) >> (page % 64) & 1) != 0; };
  struct Run {
    size_t first, end;
  };
  // The runs, from a page on. What died meanwhile is for the next time.
  uint64_t dead[kPagesPerBlock / 64];
  for (size_t i = 0; i < kPagesPerBlock / 64; i++) dead[i] = record.dead[i].load(std::memory_order_acquire) & ~record.released[i].load(std::memory_order_relaxed);
  // After the bits: where an object reaches from a dead page into the next one, that one counts as populated.
  const size_t populated = populated_pages(record);
  auto next_run = [&](size_t page) noexcept -> Run {
    while (page < populated) {
      size_t end = page;
      while (end < populated && (dead[end / 64] >> (end % 64) & 1) != 0) end++;
      if (end - page >= minimum_run) return {page, end};
      page = end + 1;
    }
    return {kPagesPerBlock, kPagesPerBlock};
  };
  if (next_run(0).first == kPagesPerBlock) return 0;
  // Published before the pins are read: heap/pins.h.
  bool was_released = record.partly_released.load(std::memory_order_relaxed);
  auto mark = [&](Run run, bool released) noexcept {
    for (size_t page = run.first; page < run.end; page++) {
      uint64_t mask = uint64_t{1} << (page % 64);
      if (released) record.released[page / 64].fetch_or(mask, std::memory_order_release);
      else record.released[page / 64].fetch_and(~mask, std::memory_order_release);
    }
  };
  auto unmark_from = [&](size_t page) noexcept {
    for (Run run = next_run(page); run.first < kPagesPerBlock; run = next_run(run.end)) mark(run, false);
  };
  auto has_runs = [&]() noexcept { return next_run(0).first < kPagesPerBlock; };
  for (Run run = next_run(0); run.first < kPagesPerBlock; run = next_run(run.end)) {
    if (run.end < populated) keep_first_object(block * kPagesPerBlock + run.end);
    mark(run, true);
  }
  record.partly_released.store(true, std::memory_order_release);
  if (is_pinned(block)) {
    unmark_from(0);
    record.release_waits.store(true, std::memory_order_relaxed);
    note_unpinned();
    if (core::knobs.debug) exclude_pinned(block, dead);
    if (!core::knobs.debug || !has_runs()) {
      record.partly_released.store(was_released, std::memory_order_release);
      return 0;
    }
    for (Run run = next_run(0); run.first < kPagesPerBlock; run = next_run(run.end)) mark(run, true);
  }
  size_t released = 0;
  bool watched = false;
  for (Run run = next_run(0); run.first < kPagesPerBlock; run = next_run(run.end)) {
    uint8_t* start = arena.block_start(block) + run.first * kPageSize;
    size_t size = (run.end - run.first) * kPageSize;
    bool done;
    if (use_userfaultfd) {
      if (!watched) watched = are_mappings_short() && populated == kPagesPerBlock ? watch_with_neighbours(block) : os::watch(arena.block_start(block), populated * kPageSize);
      done = (watched && os::discard(start, size)) || os::guard(start, size);
    } else {
      // A run between accessible pages makes three mappings of one; beside released pages it becomes a part of theirs. Its neighbours are not in
      // this round: two runs never touch.
      size_t neighbours = (run.first > 0 && bit(record.released, run.first - 1) ? 1 : 0) + (run.end < kPagesPerBlock && bit(record.released, run.end) ? 1 : 0);
      done = (neighbours != 0 || mappings() + 2 <= mapping_budget()) && os::decommit(start, size);
      if (!done) {
        done = are_mappings_short() && os::guard(start, size);
      } else {
        uint64_t splits = 2 - 2 * neighbours;  // wraps to -2 when it joins two runs
        record.splits = static_cast<uint16_t>(record.splits + splits);
        block_counters.mapping_splits.fetch_add(splits, std::memory_order_relaxed);
      }
    }
    if (!done) {
      unmark_from(run.first);
      return released;
    }
    block_counters.released_pages.fetch_add(size / kPageSize, std::memory_order_relaxed);
    block_counters.gone_bytes.fetch_add(size, std::memory_order_relaxed);
    released += size;
  }
  return released;
}

// Every page of the block is dead. Promotion sees to it when it is at work there: this is called again when it gives up.
void bury_dead_block(size_t block) noexcept {
  BlockRecord& record = arena.blocks[block];
  {
    os::LockGuard guard(lock);  // neither release_dead_pages nor promotion is at work here
    if (record.state.load(std::memory_order_relaxed) != BlockState::kLive) return;
    record.state.store(BlockState::kPooled, std::memory_order_release);
    block_counters.pinned.fetch_add(1, std::memory_order_relaxed);
    block_counters.live.fetch_sub(1, std::memory_order_relaxed);
    block_counters.dead_pages_of_no_thread.fetch_sub(kPagesPerBlock, std::memory_order_relaxed);
  }
  if (is_pinned(block)) {
    if (core::knobs.debug) {
      os::LockGuard guard(lock);
      release_pages(block, 1);
    }
    keep_for_pins(block);
    return;
  }
  finish_block(block);
  wake_maintenance();
}

}  // namespace

void mark_page_dead(size_t page) noexcept {
  size_t block = page / kPagesPerBlock, in_block = page % kPagesPerBlock;
  BlockRecord& record = arena.blocks[block];
  uint64_t bit = uint64_t{1} << (in_block % 64);
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
}

size_t release_dead_pages(size_t block, size_t minimum_run) noexcept {
  const BlockRecord& record = arena.blocks[block];
  // Holding the lock keeps the block from being pooled (and recycled) while some of its pages lose their memory.
  os::LockGuard guard(lock);
  if (record.state.load(std::memory_order_acquire) != BlockState::kLive || record.dead_pages.load(std::memory_order_acquire) == kPagesPerBlock) return 0;
  return release_pages(block, minimum_run);
}

bool look_for_pins() noexcept {
  return refresh_stack_pins(
      [](void*) {
        {
          os::LockGuard guard(lock);
          for (uint32_t block = pinned_head; block != kEndOfList; block = arena.blocks[block].next) forget_stack_pins(block);
        }
        for_each_held_block(forget_stack_pins);
      },
      nullptr);
}

size_t release_unpinned(size_t minimum_run) noexcept {
  forget_unpinned();
  uint32_t block;
  {
    os::LockGuard guard(lock);
    block = pinned_head;
    pinned_head = kEndOfList;
  }
  size_t released = 0;
  while (block != kEndOfList) {
    BlockRecord& record = arena.blocks[block];
    uint32_t next = record.next;
    if (record.handle_pins.load(std::memory_order_acquire) == 0 && record.stack_pins.load(std::memory_order_acquire) == 0) {
      if (is_huge(block)) {
        finish_huge(block);
        block_counters.pinned_huge.fetch_sub(1, std::memory_order_relaxed);
      } else {
        finish_block(block);
      }
      released++;
    } else {
      {
        os::LockGuard guard(lock);
        record.next = pinned_head;
        pinned_head = block;
      }
      // Again only after its handle pins are gone: then remove_handle_pin says so.
      if (record.handle_pins.load(std::memory_order_acquire) == 0) note_unpinned();
    }
    block = next;
  }
  for_each_held_block([&](size_t held) noexcept {
    arena.blocks[held].release_waits.store(false, std::memory_order_relaxed);
    released += release_dead_pages(held, minimum_run);
  });
  return released;
}

namespace {

void end_freeze(size_t block) noexcept {
  BlockRecord& record = arena.blocks[block];
  record.state.store(BlockState::kLive, std::memory_order_seq_cst);
  // Those who found its last page dead meanwhile have left it to us.
  if (record.dead_pages.load(std::memory_order_seq_cst) == kPagesPerBlock) bury_dead_block(block);
}

}  // namespace

bool freeze_block(size_t block) noexcept {
  BlockRecord& record = arena.blocks[block];
  {
    os::LockGuard guard(lock);
    if (record.state.load(std::memory_order_relaxed) != BlockState::kLive || record.kind != BlockKind::kSmall) return false;
    if (record.dead_pages.load(std::memory_order_acquire) == kPagesPerBlock) return false;
    record.state.store(BlockState::kFrozen, std::memory_order_seq_cst);
  }
  bool pinned = is_pinned(block);
  if (!pinned && protect_from_writing(block)) return true;
  if (!pinned) allow_writing(block);
  end_freeze(block);
  return false;
}

void thaw_block(size_t block) noexcept {
  if (!allow_writing(block) && !(note_refusal(mappings()) && allow_writing(block))) os::fail_fast("the kernel refuses to make memory of the heap writable again.", "Report it, with the kernel's version.");
  end_freeze(block);
}

bool forward_block(size_t block, uint32_t forwarding) noexcept {
  BlockRecord& record = arena.blocks[block];
  uint8_t* start = arena.block_start(block);
  size_t to = kNoBlock;
  bool inaccessible = false;
  if (!record.partly_released) {
    {
      os::LockGuard guard(lock);
      // A round may end thousands of blocks before the pool is trimmed, many more than threads take meanwhile.
      if (pool_size < std::max<size_t>(kPooledByPromotion, block_counters.live.load(std::memory_order_relaxed) / 8)) to = next_address();
    }
    if (to != kNoBlock) {
      Move move = move_block(block, to);
      inaccessible = move != Move::kRefused;
      // The block is frozen. Where its frames keep that, it must go before they are used: once watched, stores would fault for ever.
      if (move == Move::kDone && use_userfaultfd && os::moves_keep_protection() && !(os::watch(arena.block_start(to), kBlockSize) && os::write_protect(arena.block_start(to), kBlockSize, false))) {
        give_back_or_keep(arena.block_start(to), kBlockSize);
        move = Move::kLost;
      }
      if (move != Move::kDone) {
        core::note_gone(to, 1);  // the address stays unused
        to = kNoBlock;
      }
    }
  }
  if (!inaccessible && !give_block_back(block)) return false;
  {
    os::LockGuard guard(lock);
    forget_pages(record);
    record.forwarding = forwarding;
    record.state.store(BlockState::kForwarded, std::memory_order_release);
    block_counters.live.fetch_sub(1, std::memory_order_relaxed);
    block_counters.forwarded.fetch_add(1, std::memory_order_relaxed);
    block_counters.gone_bytes.fetch_add(kBlockSize, std::memory_order_relaxed);
    if (to != kNoBlock) {
      arena.blocks[to].dead_pages.store(kPagesPerBlock, std::memory_order_relaxed);
      arena.blocks[to].dirty = true;
      make_pooled(to);
    }
  }
  // A store through a stale reference: where a huge page may come, the kernel clears one before it looks who watches the address.
  if (use_userfaultfd && core::knobs.huge_pages && !are_mappings_short()) os::use_huge_pages(start, kBlockSize, false);
  return true;
}

void retire_forwarded() noexcept {
  for_each_lower_block([](size_t block) noexcept {
    BlockRecord& record = arena.blocks[block];
    if (record.state.load(std::memory_order_acquire) != BlockState::kForwarded) return;
    os::LockGuard guard(lock);
    block_counters.forwarded.fetch_sub(1, std::memory_order_relaxed);
    record.next = moved_head;
    moved_head = static_cast<uint32_t>(block);
    moved_size++;
    block_counters.moved.store(moved_size, std::memory_order_relaxed);
    record.state.store(BlockState::kMoved, std::memory_order_release);
  });
}

size_t trim_pool(size_t keep) noexcept {
  size_t trimmed = 0;
  while (true) {
    size_t block;
    {
      os::LockGuard guard(lock);
      if (pool_size <= keep) return trimmed;
      block = pop_pooled();
    }
    bury(block);
    trimmed++;
  }
}

size_t trim_pool_surplus() noexcept {
  size_t surplus, keep;
  {
    os::LockGuard guard(lock);
    pool_minima[pool_interval++ % kPoolIntervals] = pool_minimum;
    pool_minimum = pool_size;
    surplus = *std::min_element(pool_minima, pool_minima + kPoolIntervals);
    for (size_t& minimum : pool_minima) minimum -= surplus;
    keep = pool_size - surplus;
  }
  return surplus == 0 ? 0 : trim_pool(keep);
}

void collapse_moved(size_t keep) noexcept {
  while (true) {
    size_t first, count = 0;
    {
      os::LockGuard guard(lock);
      if (moved_size <= keep) return;
      // A run of neighbours in the list, which is what first in, first out leaves: one call for all of it.
      constexpr size_t kRunAtMost = 64;  // keeps the kernel's lock for less than 0.2 ms
      first = moved_head;
      size_t last = first;
      do {
        moved_head = arena.blocks[last].next;
        count++;
        moved_size--;
        if (moved_head == kEndOfList || count == kRunAtMost) break;
        if (moved_head + 1 == first) {
          first = moved_head;
          last = moved_head;
        } else if (moved_head == first + count) {
          last = moved_head;
        } else {
          break;
        }
      } while (true);
      block_counters.moved.store(moved_size, std::memory_order_relaxed);
    }
    // Refused: the mapping stays, empty and watched (or without access), which is as safe.
    os::decommit(arena.block_start(first), count * kBlockSize);
    // Runs of those that nobody holds, as neighbours are cheaper together.
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
}

void reset_blocks() noexcept {
  reset_addresses();
  pool_size = pool_minimum = moved_size = 0;
  std::fill_n(pool_minima, kPoolIntervals, 0);
  pool_head = prefaulted_head = moved_head = pinned_head = kEndOfList;
  use_userfaultfd = false;
  reset_mappings();
}

}  // namespace freehold::heap
