// The memory of marks (heap/shading.h): which blocks have some, and what of them is marked already when marking begins.
#pragma once

#include <cstddef>
#include <cstdint>

#include "heap/reclaim_scope.h"
#include "heap/shading.h"

namespace freehold::heap {

// Address space for the marks of all blocks, once; false: there is none.
bool reserve_marks() noexcept;
// Marks for each block of the scope that has memory and none yet. False: no memory; what has some keeps it.
bool cover_blocks(ReclaimScope scope) noexcept;
// With the threads stopped: the same for those that have begun to hold objects since. It does not go through the others, unless there are thousands.
bool cover_new_blocks(ReclaimScope scope) noexcept;
// With the threads stopped: marks all that is handed out from now on in blocks that are covered.
void mark_what_is_not_handed_out() noexcept;
// Takes the memory of all marks back. No thread marks any more.
void uncover_blocks() noexcept;
// The same with all address space, whatever a thread that is not here any more was about to do with it.
void forget_marks() noexcept;

// Calls function(block) for each block that is covered and has objects of its own.
template <typename Function>
void for_each_covered_block(Function function) noexcept;
template <typename Function>
void for_each_overflowed_block(Function function) noexcept;

namespace shades {

template <typename Function>
void for_each_block_in(const std::atomic<uint64_t>* bits, Function function) noexcept {
  for (size_t first = 0; first < core::arena.block_count(); first += 64) {
    for (uint64_t word = bits[first / 64].load(std::memory_order_acquire); word != 0; word &= word - 1)
      function(first + static_cast<size_t>(__builtin_ctzll(word)));
  }
}

}  // namespace shades

template <typename Function>
void for_each_covered_block(Function function) noexcept {
  shades::for_each_block_in(shading.covered, function);
}
template <typename Function>
void for_each_overflowed_block(Function function) noexcept {
  shades::for_each_block_in(shading.overflowed, function);
}

}  // namespace freehold::heap
