// Which blocks are young: those that began to hold objects since the last reclaim did, at an address from which on barriers mark cards (heap/cards.h). A young reclaim covers these alone
// (Demers et al., Combining Generational and Conservative Garbage Collection, POPL 1990: what was marked once stays so). Every reference to an object there was stored since its block
// began, so that the page where it is has a mark, if the object that holds it is in no young block.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/arena.h"

namespace freehold::heap {

struct YoungBlocks {
  std::atomic<std::atomic<uint64_t>*> bits{nullptr};  // one for each block: it began since. Set by who begins it, cleared with the threads stopped
};
extern YoungBlocks young_blocks;

// Before the block's state says kLive. Any thread.
inline void note_young_block(size_t block) noexcept {
  std::atomic<uint64_t>* bits = young_blocks.bits.load(std::memory_order_acquire);
  // Copies, and objects above 1 MB, count as old.
  if (bits == nullptr || block >= core::arena.block_count() / 2 || block % core::kBlocksPerSegment >= core::kBlocksInGeneration0) return;
  bits[block / 64].fetch_or(uint64_t{1} << (block % 64), std::memory_order_release);
}

// Memory for the bits, once. False: there is none.
bool reserve_young_blocks() noexcept;
// With the threads stopped: no block is young any more, those that begin from now on will be, and barriers mark for them. What they have marked before is for the reclaim that begins (heap/card_roots.h).
void begin_young_blocks() noexcept;
// Whether that was called at some time: a young reclaim is possible.
bool are_blocks_young() noexcept;

// Calls function(block) for each young block. One that begins meanwhile may be left out.
template <typename Function>
void for_each_young_block(Function function) noexcept;
bool is_young_block(size_t block) noexcept;

// The first and the end of the words of `bits` where young blocks may be.
struct YoungWords {
  size_t first, end;
};
YoungWords young_words() noexcept;

template <typename Function>
void for_each_young_block(Function function) noexcept {
  const std::atomic<uint64_t>* bits = young_blocks.bits.load(std::memory_order_acquire);
  auto [first, end] = young_words();
  for (size_t word = first; word < end; word++) {
    for (uint64_t left = bits[word].load(std::memory_order_acquire); left != 0; left &= left - 1) {
      size_t block = word * 64 + static_cast<size_t>(__builtin_ctzll(left));
      if (is_young_block(block)) function(block);
    }
  }
}

}  // namespace freehold::heap
