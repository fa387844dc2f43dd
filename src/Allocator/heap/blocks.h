// Blocks: where they come from, what becomes of them when all their objects are dead.
//
//   fresh → kLive → (every page dead) kPooled → its frames move to a fresh address: kMoved → kGone
//                                             → or go back to the system: kGone
//                 → (promotion) kFrozen → kForwarded → (de-dangling) kMoved → kGone
//
// A fresh block may get its memory before it is handed out (heap/prefault.h).
//
// A dead block that may be pinned (heap/pins.h) is kPooled, but on a list of its own: it keeps its memory until nothing in it is pinned any more.
//
// Addresses are fresh (or nobody's any more: heap/addresses.h), frames are recycled (design.md). Physical memory is 50 times cheaper to move than to fault in again.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/arena.h"
#include "heap/accounting.h"
#include "heap/block_walk.h"

namespace freehold::heap {

// Chooses userfaultfd or mprotect as the knobs say. False when userfaultfd was demanded and the kernel refuses.
bool initialize_protection() noexcept;
// From now on memory is protected by its access rights alone. Whether that is new: then what is dead has to lose them (heap/fork.cpp). In the child of a fork.
bool stop_watching() noexcept;

enum class BlockUse : uint8_t {
  kOneThread,
  kShared,    // for small chunks of several threads: no huge page, if the memory is fresh, as little of it may be needed
  kPromoted,  // in the half of a segment for higher generations
};

// A block with memory, recycled or fresh; the caller holds it. kNoBlock when the limit, the memory or the addresses are exhausted.
size_t acquire_block(core::BlockKind kind, BlockUse use = BlockUse::kOneThread) noexcept;
// Who allocates from a block holds it. It may die meanwhile, and lose its memory, when maintenance has taken what its owner left idle; but its record
// stays, and says so to an owner who comes back. Any thread; who calls hold_block knows that somebody else holds it meanwhile.
void hold_block(size_t block) noexcept;
void unhold_block(size_t block) noexcept;

// Prefaulting: a block gets its memory, and waits for acquire_block(). False: `at_most` wait already, or there is no room for it. One thread at a time.
bool prefault_block(size_t at_most) noexcept;
// Gives back what waits.
void drop_prefaulted() noexcept;
// A run of blocks for one object of more than kHugeObject bytes; zeroed.
size_t acquire_huge(size_t bytes) noexcept;
void release_huge(size_t block) noexcept;

// A page's objects are all dead. Once for each page, however many threads come to this conclusion: buries the block with its last page.
void mark_page_dead(size_t page) noexcept;

// Gives the memory of dead pages of live blocks back, in runs of at least `minimum_run` pages. Returns the bytes.
size_t release_dead_pages(size_t block, size_t minimum_run) noexcept;

// Promotion, one block at a time and one thread at a time. Frozen: what is there can be read, who writes faults and waits. False: the block is not
// one of live small objects, it is pinned, or the kernel refuses; nothing has changed then.
bool freeze_block(size_t block) noexcept;
void thaw_block(size_t block) noexcept;
// Takes a frozen block's memory away: its frames go to the pool. From now on whoever uses an address of it asks its forwarding. False: the kernel
// refuses, it is still frozen.
bool forward_block(size_t block, uint32_t forwarding) noexcept;
// No name of before their promotion is left: blocks that were forwarded are dead from now on, and need no table any more. The promoting thread only.
void retire_forwarded() noexcept;
// Finds out what the threads still pin, with one stop, and forgets the pins of all others that stand in the way of a release. Without locks.
// What it may release then waits for release_unpinned. False: not possible now.
bool look_for_pins() noexcept;
// Releases the dead blocks, and dead pages of live blocks, that no pin holds any more. Returns how many blocks and bytes of pages went.
size_t release_unpinned(size_t minimum_run) noexcept;

// Gives pooled blocks back to the system, until `keep` are left. Returns how many went.
size_t trim_pool(size_t keep) noexcept;
// Gives back what nobody needed during the last calls, which are a tick of maintenance apart. Returns how many blocks went.
size_t trim_pool_surplus() noexcept;
// Replaces the empty mappings that moved blocks left behind by reserved space; adjacent ones become one mapping.
void collapse_moved(size_t keep) noexcept;

void reset_blocks() noexcept;  // tests only

}  // namespace freehold::heap
