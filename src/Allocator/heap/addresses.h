// Addresses: which ones are handed out next, and when they may be handed out again.
//
// Each half of a segment, and the half of the arena for huge objects, is used from its start to its end: a *lap*. 47 bits last long, but not for ever. Before
// a region ends, an *address scan* finds the groups of blocks that are gone and that nothing in the process names any more; the next lap goes over
// these. Whoever holds a reference to a deleted object keeps 32 MB of addresses from being used again, no memory; a stale reference never meets a stranger.
//
// The scan is a part of a remap (heap/dedangling.h), which looks at all places where a name may be. It tells note_name() of each that it meets, as the
// write barriers do while it is under way. A name can only come from where there was one: a name that no scan met does not exist.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/arena.h"

namespace freehold::heap {

inline constexpr size_t kNoBlock = SIZE_MAX;
// Blocks that stay without huge pages at the start of the heap: small programs pay for the pages they touch.
inline constexpr size_t kSmallStart = 2;

// The reserve: blocks that are mapped before anybody needs them, so that an OutOfMemoryException can be thrown and handled when the kernel has no mapping
// left for another block. The last blocks of the first group from the start, 64 more once the heap has outgrown that group.
inline constexpr size_t kReserveStart = core::kBlocksPerGroup - 4;

// All functions here: any thread; the caller may hold the blocks' lock.

// The next address of generation 0, of the higher generations, or of a run of blocks for a huge object. kNoBlock: none is left, or the kernel refuses
// memory for the tables. `emergency`: the last group of generation 0 is kept for what throws an OutOfMemoryException.
size_t next_address(bool emergency = false) noexcept;
size_t next_promoted_address() noexcept;
// Addresses that were taken and are not used after all: dead like others, so that they are one mapping with them.
void leave_unused(size_t block, size_t count) noexcept;
// kNoBlock: all of them were used.
size_t next_reserve_block(bool first_are_mapped) noexcept;
// When there are mappings again: what was used of the reserve is replaced.
void fill_reserve() noexcept;
size_t reserve_blocks() noexcept;
// Whether the address was not used since it was last made ready, and will be: of the reserve, or of a group that is being handed out. In the child of a fork, which holds the lock or is alone.
bool is_to_be_used(size_t block) noexcept;
size_t next_huge_address(size_t count) noexcept;

// Lock-free: blocks below these were handed out at some time: [0, lower) of the lower half of each segment, and [block_count/2, upper).
size_t lower_frontier() noexcept;
size_t upper_frontier() noexcept;
// Whether a block was, so that there may be a reference into it. Lock-free, signal-safe.
bool was_handed_out(size_t block) noexcept;
// How many addresses of higher generations were, and the n-th of them.
size_t promoted_frontier() noexcept;
// The last block of a segment stays unused: pins.cpp has an address there that nobody may use.
constexpr size_t promoted_block(size_t n) noexcept {
  return n / core::kBlocksInGeneration0 * core::kBlocksPerSegment + core::kBlocksInGeneration0 + n % core::kBlocksInGeneration0;
}
// Where this lap of generation 0 is: what it handed out lies below, what is above is of the lap before, or unused.
size_t lap_position() noexcept;

// For whoever forks: nobody is changing the regions. Taken after the blocks' lock.
void lock_addresses() noexcept;
void unlock_addresses() noexcept;

// Figures. Bytes of addresses that were handed out at some time, and of those that were handed out again.
size_t addresses_used() noexcept;
size_t addresses_reused() noexcept;

// Whether a region is so near its end that a scan is worth its time: an eighth of it is left; after a scan that found less, half of what it found.
bool are_addresses_short() noexcept;
// Whether an allocation failed since the last scan because no address was left.
bool are_addresses_exhausted() noexcept;
// Dead memory stays accessible, since the kernel refuses to take it: what it holds may name anything, so that nothing is ever handed out again.
void forbid_reuse() noexcept;

// A scan, one at a time. Asks for names of all groups that are gone. From now on note_name() is told of each name that is met, and of each that is stored.
void begin_address_scan() noexcept;
// What was asked for and not met is nobody's, if the scan was complete. The caller holds the lock of maintenance: what looked at a group while it was in
// use is through.
void end_address_scan(bool complete) noexcept;
bool is_scanning_addresses() noexcept;

// Something names the place: the group that it lies in is not handed out again, nor any other that the same object reached into. Any value. As the barriers
// call it, it touches general registers only.
inline void note_name(uint64_t name) noexcept {
  using core::arena;
  using core::GroupState;
  uint64_t offset = name - 1 - arena.start;  // one past its end belongs to the object
  if (offset >= arena.size) return;
  size_t group = offset / core::kGroupSize;
  auto keep = [](size_t kept) noexcept {
    uint8_t state = arena.gone[kept].load(std::memory_order_relaxed);
    if ((state & GroupState::kMask) == GroupState::kAsked)
      arena.gone[kept].store(static_cast<uint8_t>(state - GroupState::kAsked + GroupState::kWithoutTables), std::memory_order_relaxed);
    return (state & GroupState::kContinues) != 0;
  };
  bool continues = keep(group);
  if (offset < arena.size / 2) return;
  for (size_t before = group; continues;) continues = keep(--before);
  for (size_t behind = group + 1; behind < arena.size / core::kGroupSize && (arena.gone[behind].load(std::memory_order_relaxed) & GroupState::kContinues) != 0;
       behind++)
    keep(behind);
}
}  // namespace freehold::heap
