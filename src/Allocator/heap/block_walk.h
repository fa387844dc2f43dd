// Walks over the blocks of the arena that were ever handed out.
#pragma once

#include <cstddef>

#include "core/arena.h"
#include "heap/addresses.h"

namespace freehold::heap {

// Calls function(block) for the blocks in [first, end). Groups that are gone are left out: what a walk costs must not grow with all addresses that were
// ever used.
template <typename Function>
void for_each_block(size_t first, size_t end, Function function) noexcept {
  for (size_t block = first; block < end;) {
    if (block % core::kBlocksPerGroup == 0 && core::is_group_gone(block)) {
      block += core::kBlocksPerGroup;
    } else {
      function(block++);
    }
  }
}

// Calls function(first, end) for the ranges of the lower half whose blocks were handed out at some time.
template <typename Function>
void for_each_lower_range(Function function) noexcept {
  for (size_t first = 0, end = lower_frontier(); first < end; first += core::kBlocksPerSegment)
    function(first, end - first < core::kBlocksInGeneration0 ? end : first + core::kBlocksInGeneration0);
  for (size_t n = 0, end = promoted_frontier(); n < end; n += core::kBlocksInGeneration0) {
    size_t first = promoted_block(n);
    function(first, first + (end - n < core::kBlocksInGeneration0 ? end - n : core::kBlocksInGeneration0));
  }
}

// Calls function(block) for every block of the lower half that was handed out at some time, but for those of groups that are gone.
template <typename Function>
void for_each_lower_block(Function function) noexcept {
  for_each_lower_range([&](size_t first, size_t end) noexcept { for_each_block(first, end, function); });
}

// The same for the upper half.
template <typename Function>
void for_each_upper_block(Function function) noexcept {
  for_each_block(core::arena.block_count() / 2, upper_frontier(), function);
}

}  // namespace freehold::heap
