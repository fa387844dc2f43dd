// Blocks: where they come from, what becomes of them when all their objects are dead.
//
//   fresh → kLive → (every page dead) kPooled → its frames move to a fresh address: kMoved → kGone       heap/dead_blocks.h, block_pool.h
//                                             → or go back to the system: kGone                         heap/block_ends.h
//                 → (promotion) kEvacuating → kForwarded → (de-dangling) kMoved → kGone                     heap/block_evacuation.h
//
// A fresh block may get its memory before it is handed out (heap/prefault.h).
//
// A dead block that may be pinned (heap/pinned_blocks.h) is kPooled, but on a list of its own: it keeps its memory until nothing in it is pinned any more.
//
// Addresses are fresh (or nobody's any more: heap/addresses.h), frames are recycled (design.md). Physical memory is 50 times cheaper to move than to fault in again.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/arena.h"
#include "heap/addresses.h"

namespace freehold::heap {

enum class BlockUse : uint8_t {
  kOneThread,
  kShared,    // for small chunks of several threads: no huge page, if the memory is fresh, as little of it may be needed
  kPromoted,  // in the half of a segment for higher generations
};

// A block with memory, recycled or fresh; the caller is its user (heap/block_ends.h). kNoBlock when the limit, the memory or the addresses are exhausted.
size_t acquire_block(core::BlockKind kind, BlockUse use = BlockUse::kOneThread) noexcept;
// A run of blocks for one object of more than kHugeObject bytes; zeroed.
size_t acquire_huge(size_t bytes) noexcept;

}  // namespace freehold::heap
