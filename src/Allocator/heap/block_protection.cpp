#include "heap/block_protection.h"

#include <atomic>

#include "core/arena.h"
#include "core/knobs.h"
#include "core/module_state.h"
#include "heap/accounting.h"
#include "heap/addresses.h"
#include "heap/mappings.h"
#include "os/kernel.h"
#include "os/watching.h"

namespace freehold::heap {

using core::arena;
using core::BlockKind;
using core::BlockRecord;
using core::BlockState;
using core::kBlockSize;
using core::kPageSize;
using core::kPagesPerBlock;

namespace {

struct State {
  bool use_userfaultfd = false;    // written before there are threads, and in the child of a fork
  bool reserve_is_mapped = false;  // heap/addresses.h; written before there are threads
  // Set for good, before the memory goes; read in the child of a fork, where nobody else runs.
  std::atomic<bool> is_dead_memory_accessible{false};
};
constinit State state;
FREEHOLD_MODULE_STATE(state);

bool is_full(const BlockRecord& record) noexcept {
  return record.kind == BlockKind::kLarge ? record.populated.load(std::memory_order_acquire)
                                          : record.initialised.load(std::memory_order_acquire) == ~uint64_t{0};
}

// Makes dead memory inaccessible and gives it back. Where the kernel refuses (too many mappings, before Linux 6.13), it stays as it is: deleted
// objects behave as if they were alive. It must never be discarded while it is accessible: a stale reference would read zeros.
bool give_back(uint8_t* start, size_t size) noexcept {
  if (os::decommit(start, size)) return true;
  if (!state.use_userfaultfd || !os::watch(start, size)) return os::guard(start, size);
  note_accessible_dead_memory();
  return os::discard(start, size) || os::guard(start, size);
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

}  // namespace

bool initialize_protection() noexcept {
  // It takes no memory.
  state.reserve_is_mapped = os::commit(arena.block_start(kReserveStart), (core::kBlocksPerGroup - kReserveStart) * kBlockSize);
  if (core::knobs.protection == core::Protection::kMprotect) return true;
  state.use_userfaultfd = os::start_watching();
  return state.use_userfaultfd || core::knobs.protection == core::Protection::kAuto;
}

bool is_watching() noexcept { return state.use_userfaultfd; }

bool is_dead_memory_accessible() noexcept { return state.is_dead_memory_accessible.load(std::memory_order_relaxed); }

void note_accessible_dead_memory() noexcept { state.is_dead_memory_accessible.store(true, std::memory_order_seq_cst); }

bool is_reserve_mapped() noexcept { return state.reserve_is_mapped; }

bool stop_watching() noexcept {
  bool did = state.use_userfaultfd;
  state.use_userfaultfd = false;
  return did;
}

Move move_block(size_t from, size_t to) noexcept {
  uint8_t* source = arena.block_start(from);
  uint8_t* target = arena.block_start(to);
  if (!begin_move()) return Move::kRefused;
  struct Moving {
    ~Moving() { end_move(); }
  } moving;
  if (state.use_userfaultfd) {
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

bool watch_with_neighbours(size_t block) noexcept {
  constexpr size_t kFarthest = 64;
  auto joins = [](size_t neighbour) noexcept {
    const BlockRecord& record = arena.blocks[neighbour];
    return record.state.load(std::memory_order_acquire) == BlockState::kLive && (record.kind == BlockKind::kSmall || record.kind == BlockKind::kLarge) &&
           !record.dirty && is_full(record);
  };
  constexpr size_t kHalf = core::kBlocksInGeneration0;
  size_t first = block, end = block + 1;
  while (first % kHalf != 0 && block - first < kFarthest && joins(first - 1)) first--;
  while (end % kHalf != 0 && end - block < kFarthest && joins(end)) end++;
  return os::watch(arena.block_start(first), (end - first) * kBlockSize);
}

// The same for a block of the lower half, with as few mappings as may be.
bool give_block_back(size_t block) noexcept {
  uint8_t* start = arena.block_start(block);
  if (state.use_userfaultfd && are_mappings_short() && !arena.blocks[block].dirty && watch_with_neighbours(block)) {
    note_accessible_dead_memory();
    if (os::discard(start, kBlockSize)) return true;
  }
  return give_back(start, kBlockSize);
}

void give_back_or_keep(uint8_t* start, size_t size) noexcept {
  if (!give_back(start, size)) forbid_reuse();
}

// With mprotect, pages without memory must stay without access.
bool protect_from_writing(size_t block) noexcept {
  uint8_t* start = arena.block_start(block);
  bool done;
  if (state.use_userfaultfd) {
    if (!(are_mappings_short() ? watch_with_neighbours(block) : os::watch(start, kBlockSize))) return false;
    done = os::write_protect(start, kBlockSize, true);
  } else if (!arena.blocks[block].partly_released.load(std::memory_order_relaxed)) {
    done = os::protect_read(start, kBlockSize);
  } else {
    done = for_each_run_with_memory(block, [](uint8_t* run, size_t size) noexcept { return os::protect_read(run, size); });
  }
  // The kernel may have done a part of it.
  if (!done) allow_writing(block);
  return done;
}

namespace {

bool lift_protection(size_t block) noexcept {
  uint8_t* start = arena.block_start(block);
  if (state.use_userfaultfd) return os::write_protect(start, kBlockSize, false);
  if (!arena.blocks[block].partly_released.load(std::memory_order_relaxed)) return os::lift_protection(start, kBlockSize);
  bool all = true;
  for_each_run_with_memory(block, [&all](uint8_t* run, size_t size) noexcept {
    all = os::lift_protection(run, size) && all;
    return true;
  });
  return all;
}

}  // namespace

void allow_writing(size_t block) noexcept {
  if (!lift_protection(block) && !(note_refusal(mappings()) && lift_protection(block)))
    os::fail_fast("the kernel refuses to make memory of the heap writable again.", "Report it, with the kernel's version.");
}

}  // namespace freehold::heap
