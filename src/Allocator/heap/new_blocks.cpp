#include "heap/new_blocks.h"

#include "core/module_state.h"

namespace freehold::heap {

NewBlocks new_blocks;
FREEHOLD_MODULE_STATE(new_blocks);

void want_new_blocks() noexcept {
  new_blocks.count.store(0, std::memory_order_relaxed);
  for (auto& block : new_blocks.block) block.store(0, std::memory_order_relaxed);
  // Who has seen an older wish and stores late tells by its number.
  constexpr uint64_t kMostWishes = (uint64_t{1} << (64 - NewBlocks::kBlockBits)) - 1;
  new_blocks.wishes = new_blocks.wishes % kMostWishes + 1;
  new_blocks.wanted.store(new_blocks.wishes, std::memory_order_seq_cst);
}

void want_no_blocks() noexcept { new_blocks.wanted.store(0, std::memory_order_seq_cst); }

bool take_new_blocks(void (*fn)(size_t block, void* argument) noexcept, void* argument) noexcept {
  want_no_blocks();
  size_t count = new_blocks.count.load(std::memory_order_relaxed);
  bool complete = count <= NewBlocks::kAtMost;
  for (size_t i = 0; i < count && i < NewBlocks::kAtMost; i++) {
    uint64_t noted = new_blocks.block[i].load(std::memory_order_acquire);
    if (noted >> NewBlocks::kBlockBits == new_blocks.wishes) fn(noted & ((uint64_t{1} << NewBlocks::kBlockBits) - 1), argument);
    else complete = false;
  }
  return complete;
}

}  // namespace freehold::heap
