#include "heap/addresses.h"

#include <algorithm>

#include "Platform/lock.h"
#include "core/knobs.h"
#include "core/module_state.h"
#include "heap/accounting.h"
#include "heap/guarded_blocks.h"
#include "os/kernel.h"

namespace freehold::heap {

using core::arena;
using core::GroupState;
using core::kBlocksInGeneration0;
using core::kBlocksPerGroup;
using core::kBlocksPerSegment;

namespace {

constexpr size_t kShortShare = 8;  // are_addresses_short()

// The reserve of a heap that has outgrown its first group: so many blocks more, and no larger share of the addresses.
constexpr size_t kLargerReserve = 64;
constexpr size_t kReserveShare = 64;

enum Kind : uint8_t { kLower, kPromoted, kUpper, kRegions };

// Its blocks are numbered in the order in which a lap comes by; a group has kBlocksPerGroup numbers in a row.
struct Region {
  size_t next = 0;                // of this lap
  size_t frontier = 0;            // behind all that were ever handed out, or left out. Stored under the lock, atomically: signal handlers read it without
  size_t unnamed = 0;             // groups that may be handed out again
  size_t short_below = SIZE_MAX;  // groups
  size_t reused = 0;              // groups, ever
};

os::Lock lock;  // guards the regions
struct State {
  Region regions[kRegions];
  size_t reserve_used = 0;  // blocks from kReserveStart on
  size_t larger_reserve[kLargerReserve] = {};
  size_t larger_reserve_size = 0;
  bool reserve_was_enlarged = false;
  size_t reserved_used = 0;  // blocks of the group behind the lower region, which is for emergencies
  std::atomic<bool> scanning{false};
  std::atomic<bool> reuse_forbidden{false};
  std::atomic<bool> short_of_addresses{false}, out_of_addresses{false};
};
constinit State state;
FREEHOLD_MODULE_STATE(state);

// Blocks that its laps go over.
size_t size_of(Kind kind) noexcept { return arena.block_count() / (kind == kUpper ? 2 : 4) - (kind == kLower ? kBlocksPerGroup : 0); }

size_t block_of(Kind kind, size_t n) noexcept {
  switch (kind) {
    case kLower: return n / kBlocksInGeneration0 * kBlocksPerSegment + n % kBlocksInGeneration0;
    case kPromoted: return promoted_block(n);
    default: return arena.block_count() / 2 + n;
  }
}

size_t group_of(Kind kind, size_t n) noexcept { return block_of(kind, n) / kBlocksPerGroup; }
constexpr size_t group_start(size_t n) noexcept { return n / kBlocksPerGroup * kBlocksPerGroup; }
constexpr size_t group_end(size_t n) noexcept { return group_start(n) + kBlocksPerGroup; }

// The last block of a segment, which is never used, and the reserve.
constexpr bool is_left_out(Kind kind, size_t n) noexcept {
  return (kind == kPromoted && n % kBlocksInGeneration0 == kBlocksInGeneration0 - 1) || (kind == kLower && n >= kReserveStart && n < kBlocksPerGroup);
}

size_t groups_left(Kind kind) noexcept { return (size_of(kind) - state.regions[kind].frontier) / kBlocksPerGroup + state.regions[kind].unnamed; }

// After each change of a region. Caller holds the lock.
void note_shortage() noexcept {
  bool is_short = false;
  for (Kind kind : {kLower, kPromoted, kUpper}) {
    size_t limit = std::min(state.regions[kind].short_below, size_of(kind) / kBlocksPerGroup / kShortShare);
    if (groups_left(kind) < limit) is_short = true;
  }
  state.short_of_addresses.store(is_short, std::memory_order_relaxed);
}

// Where the next run of `count` blocks may begin: what is left of the group that the lap is in, groups that were never used, or that nothing names.
// kNoBlock: nowhere. Caller holds the lock.
size_t find_run(Kind kind, size_t count) noexcept {
  const Region& region = state.regions[kind];
  size_t size = size_of(kind), start = region.next;
  bool next_lap = false;
  // Tests do not wait for the end of a lap.
  if (core::knobs.stress.reuse && start % kBlocksPerGroup == 0 && region.unnamed != 0) start = 0;
  while (true) {
    while (is_left_out(kind, start)) start++;
    if (start >= size || count > size - start) {
      if (next_lap || region.unnamed == 0) return kNoBlock;
      next_lap = true;
      start = 0;
      continue;
    }
    // What does not fit into the rest of a group begins another one: no two objects reach from one into the next.
    if (group_start(start) != start && start + count > group_end(start)) {
      start = group_end(start);
      continue;
    }
    size_t group = start % kBlocksPerGroup == 0 ? start : group_end(start);
    while (group < start + count && (group >= region.frontier || core::group_state(group_of(kind, group)) == GroupState::kUnnamed)) group += kBlocksPerGroup;
    if (group >= start + count) return start;
    start = group_end(group);
  }
}

// Makes a group of addresses as they were before their first use. False: the kernel refuses; they are not asked for again. Caller holds the lock.
bool renew_group(Kind kind, size_t n) noexcept {
  size_t group = group_of(kind, n);
  uint8_t* start = arena.block_start(group * kBlocksPerGroup);
  if (n < size_of(kind)) state.regions[kind].unnamed--;
  // Whatever the kernel remembers of their mappings goes.
  if (!os::decommit(start, core::kGroupSize)) {
    arena.gone[group].store(GroupState::kAllGone, std::memory_order_relaxed);
    return false;
  }
  core::clear_tables(group);
  forget_guarded_blocks(group * kBlocksPerGroup, kBlocksPerGroup);
  if (core::knobs.huge_pages && kind != kUpper) os::use_huge_pages(start, core::kGroupSize, true);
  arena.gone[group].store(is_left_out(kind, n + kBlocksPerGroup - 1) ? 1 : 0, std::memory_order_release);
  state.regions[kind].reused++;
  return true;
}

void raise_frontier(Region& region, size_t end) noexcept {
  if (end > region.frontier) __atomic_store_n(&region.frontier, end, __ATOMIC_RELEASE);
}

// Once for each segment: the kernel's hint then covers all of this half of it with one mapping.
void begin_segment(Kind kind, size_t n, size_t block) noexcept {
  if (kind == kUpper) return;
  bool is_first = n % kBlocksInGeneration0 == 0;
  if (kind == kPromoted && is_first) core::note_gone(block + kBlocksInGeneration0 - 1, 1);
  size_t from = kind == kLower && n < kBlocksInGeneration0 ? kSmallStart : 0;
  // Not for the one that is left out: it would part the mappings of both sides for good.
  size_t to = kBlocksInGeneration0 - (kind == kPromoted ? 1 : 0);
  if (core::knobs.huge_pages && n % kBlocksInGeneration0 == from) os::use_huge_pages(arena.block_start(block), (to - from) * core::kBlockSize, true);
}

// The first of `count` blocks. Caller holds the lock.
size_t take_run(Kind kind, size_t count) noexcept {
  Region& region = state.regions[kind];
  while (true) {
    size_t start = find_run(kind, count);
    if (start == kNoBlock) state.out_of_addresses.store(true, std::memory_order_relaxed);
    if (start == kNoBlock || !core::commit_tables(block_of(kind, start), count)) return kNoBlock;
    bool renewed = true;
    for (size_t group = start % kBlocksPerGroup == 0 ? start : group_end(start); group < start + count && group < region.frontier && renewed;
         group += kBlocksPerGroup) {
      renewed = renew_group(kind, group);
      // What was renewed for a run that ends here waits for the next scan.
      if (!renewed) {
        for (size_t other = start % kBlocksPerGroup == 0 ? start : group_end(start); other < group; other += kBlocksPerGroup)
          core::note_gone(block_of(kind, other), kBlocksPerGroup);
      }
    }
    if (!renewed) continue;
    if (start != region.next) {
      // Elsewhere: the rest of the group that this lap was in stays unused.
      // (The first group of all is not used again: nobody counts its blocks.)
      if (region.next % kBlocksPerGroup != 0 && !(kind == kLower && region.next < kBlocksPerGroup)) {
        size_t left = group_end(region.next) - region.next - (is_left_out(kind, group_end(region.next) - 1) ? 1 : 0);
        if (left != 0) leave_unused(block_of(kind, region.next), left);
        raise_frontier(region, group_end(region.next));
      }
      region.next = start;
    }
    size_t block = block_of(kind, start);
    if (start >= region.frontier) begin_segment(kind, start, block);
    for (size_t group = group_end(start); group < start + count; group += kBlocksPerGroup)
      arena.gone[group_of(kind, group)].fetch_or(GroupState::kContinues, std::memory_order_relaxed);
    region.next = start + count;
    raise_frontier(region, region.next);
    if (region.next % kBlocksPerGroup == 0 || count > 1) note_shortage();
    return block;
  }
}

// Caller holds the lock.
size_t take_reserved() noexcept {
  size_t first = size_of(kLower);
  if (state.regions[kLower].frontier < first) return kNoBlock;  // the kernel refuses memory for the tables, that is all
  if (state.reserved_used == kBlocksPerGroup && core::group_state(group_of(kLower, first)) == GroupState::kUnnamed && renew_group(kLower, first))
    state.reserved_used = 0;
  if (state.reserved_used == kBlocksPerGroup || !core::commit_tables(block_of(kLower, first), 1)) return kNoBlock;
  return block_of(kLower, first + state.reserved_used++);
}

// Blocks that have a mapping before anybody needs them. It takes no memory. Caller holds the lock.
void enlarge_reserve() noexcept {
  state.reserve_was_enlarged = true;
  size_t wanted = std::min(kLargerReserve, size_of(kLower) / kReserveShare);
  while (state.larger_reserve_size < wanted) {
    size_t block = take_run(kLower, 1);
    if (block == kNoBlock) return;
    if (!os::commit(arena.block_start(block), core::kBlockSize)) {
      leave_unused(block, 1);
      return;
    }
    state.larger_reserve[state.larger_reserve_size++] = block;
  }
}

size_t used_of(Kind kind) noexcept {
  return __atomic_load_n(&state.regions[kind].frontier, __ATOMIC_ACQUIRE) + (kind == kLower ? __atomic_load_n(&state.reserved_used, __ATOMIC_ACQUIRE) : 0);
}

// Calls function(kind, group, whether laps go over it) for the groups that were used at some time, but for the first of all, whose blocks are not like the
// others. Holds the lock for some at a time: there may be millions, and threads that want a block wait.
template <typename Function>
void for_each_used_group(Function function) noexcept {
  constexpr size_t kAtATime = 4096 * kBlocksPerGroup;
  for (Kind kind : {kLower, kPromoted, kUpper}) {
    size_t n = kind == kLower ? kBlocksPerGroup : 0;
    for (bool more = true; more;) {
      os::LockGuard guard(lock);
      size_t used = used_of(kind), end = used - n < kAtATime || used < n ? used : n + kAtATime;
      for (; n < end; n += kBlocksPerGroup) function(kind, group_of(kind, n), n < size_of(kind));
      more = n < used;
    }
  }
}

}  // namespace

void leave_unused(size_t block, size_t count) noexcept {
  // First: once all of a group are gone, another thread may use its addresses again.
  os::decommit(arena.block_start(block), count * core::kBlockSize);
  core::note_gone(block, count);
}

bool is_to_be_used(size_t block) noexcept {
  if (block >= kReserveStart + state.reserve_used && block < kBlocksPerGroup) return true;
  for (Kind kind : {kLower, kPromoted, kUpper}) {
    size_t next = state.regions[kind].next;
    if (next % kBlocksPerGroup != 0 && block >= block_of(kind, next) && block < block_of(kind, next) + (group_end(next) - next)) return true;
  }
  const size_t *reserve = state.larger_reserve, *reserve_end = reserve + state.larger_reserve_size;
  return std::find(reserve, reserve_end, block) != reserve_end;
}

void lock_addresses() noexcept { lock.lock(); }
void unlock_addresses() noexcept { lock.unlock(); }

size_t next_address(bool emergency) noexcept {
  os::LockGuard guard(lock);
  if (!state.reserve_was_enlarged && state.regions[kLower].frontier >= kReserveStart) enlarge_reserve();
  size_t block = take_run(kLower, 1);
  return block == kNoBlock && emergency ? take_reserved() : block;
}

size_t next_promoted_address() noexcept {
  os::LockGuard guard(lock);
  return take_run(kPromoted, 1);
}

size_t next_huge_address(size_t count) noexcept {
  os::LockGuard guard(lock);
  return take_run(kUpper, count);
}

size_t next_reserve_block(bool first_are_mapped) noexcept {
  os::LockGuard guard(lock);
  if (state.larger_reserve_size != 0) return state.larger_reserve[--state.larger_reserve_size];
  if (!first_are_mapped || state.reserve_used == kBlocksPerGroup - kReserveStart || !core::commit_tables(kReserveStart, 1)) return kNoBlock;
  return kReserveStart + state.reserve_used++;
}

void fill_reserve() noexcept {
  os::LockGuard guard(lock);
  if (state.reserve_was_enlarged && state.larger_reserve_size < kLargerReserve / 2 && !state.short_of_addresses.load(std::memory_order_relaxed))
    enlarge_reserve();
}

size_t reserve_blocks() noexcept {
  os::LockGuard guard(lock);
  return state.larger_reserve_size + kBlocksPerGroup - kReserveStart - state.reserve_used;
}

size_t lower_frontier() noexcept {
  size_t count = used_of(kLower);
  if (state.reserve_used != 0) count = std::max(count, kBlocksPerGroup);
  return count == 0 ? 0 : block_of(kLower, count - 1) + 1;
}

size_t promoted_frontier() noexcept { return used_of(kPromoted); }

size_t upper_frontier() noexcept { return block_of(kUpper, used_of(kUpper)); }

bool was_handed_out(size_t block) noexcept {
  size_t upper = arena.block_count() / 2, segment = block / kBlocksPerSegment * kBlocksInGeneration0, place = block % kBlocksPerSegment;
  if (block >= upper) return block - upper < used_of(kUpper);
  if (place >= kBlocksInGeneration0) return segment + place - kBlocksInGeneration0 < used_of(kPromoted);
  // The last ones are for emergencies, in no order.
  return segment + place < used_of(kLower) || segment + place >= size_of(kLower);
}

size_t lap_position() noexcept {
  os::LockGuard guard(lock);
  size_t count = state.regions[kLower].next;
  return count == 0 ? 0 : block_of(kLower, count - 1) + 1;
}

size_t addresses_used() noexcept {
  os::LockGuard guard(lock);
  return (used_of(kLower) + used_of(kPromoted) + used_of(kUpper)) * core::kBlockSize;
}

size_t addresses_reused() noexcept {
  os::LockGuard guard(lock);
  return (state.regions[kLower].reused + state.regions[kPromoted].reused + state.regions[kUpper].reused) * core::kGroupSize;
}

namespace {

// In debug mode a record of each deleted object is found by its address (heap/history.h).
bool may_reuse() noexcept { return !state.reuse_forbidden.load(std::memory_order_relaxed) && !core::knobs.debug; }

}  // namespace

bool are_addresses_short() noexcept { return state.short_of_addresses.load(std::memory_order_relaxed) && may_reuse(); }
bool are_addresses_exhausted() noexcept { return state.out_of_addresses.load(std::memory_order_relaxed) && may_reuse(); }
void forbid_reuse() noexcept { state.reuse_forbidden.store(true, std::memory_order_release); }
bool is_scanning_addresses() noexcept { return state.scanning.load(std::memory_order_acquire); }

void begin_address_scan() noexcept {
  state.out_of_addresses.store(false, std::memory_order_relaxed);
  state.scanning.store(true, std::memory_order_release);
  for_each_used_group([](Kind, size_t group, bool) noexcept {
    uint8_t gone = arena.gone[group].load(std::memory_order_acquire);
    // Nobody else changes one that is without tables.
    if ((gone & GroupState::kMask) == GroupState::kWithoutTables) arena.gone[group].store(static_cast<uint8_t>(gone + 1), std::memory_order_release);
  });
  static_assert(GroupState::kWithoutTables + 1 == GroupState::kAsked);
}

void end_address_scan(bool complete) noexcept {
  state.scanning.store(false, std::memory_order_release);
  if (!may_reuse()) complete = false;
  for_each_used_group([complete](Kind kind, size_t group, bool of_laps) noexcept {
    uint8_t gone = arena.gone[group].load(std::memory_order_relaxed);
    if ((gone & GroupState::kMask) != GroupState::kAsked) return;
    if (complete && of_laps) state.regions[kind].unnamed++;
    uint8_t next = complete ? GroupState::kUnnamed : GroupState::kWithoutTables;
    arena.gone[group].store(static_cast<uint8_t>(gone - GroupState::kAsked + next), std::memory_order_relaxed);
  });
  os::LockGuard guard(lock);
  // Not again at once, if it found little. Where it found nothing, allocations that fail ask for the next one.
  for (Kind kind : {kLower, kPromoted, kUpper}) state.regions[kind].short_below = groups_left(kind) / 2;
  note_shortage();
}

}  // namespace freehold::heap
