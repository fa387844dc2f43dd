// Which blocks have begun to hold objects since the marker asked, so that it need not look through all of them while the threads are stopped.
#pragma once

#include <atomic>
#include <cstddef>

namespace freehold::heap {

struct NewBlocks {
  static constexpr size_t kAtMost = 4096;

  std::atomic<uint64_t> wanted{0};       // the number of the wish; 0: none
  std::atomic<size_t> count{0};          // more than kAtMost: some were not noted
  std::atomic<uint64_t> block[kAtMost];  // with the number of the wish above it
  uint64_t wishes = 0;

  static constexpr unsigned kBlockBits = 40;
  static_assert(kBlockBits < 64);
};
extern NewBlocks new_blocks;

// After the block's state says kLive. Whoever does not see that this is wanted is seen by the look that follows the wish: both are sequentially consistent, as is the store of the state.
inline void note_new_block(size_t block) noexcept {
  uint64_t wish = new_blocks.wanted.load(std::memory_order_seq_cst);
  if (wish == 0) return;
  size_t place = new_blocks.count.fetch_add(1, std::memory_order_relaxed);
  if (place < NewBlocks::kAtMost) new_blocks.block[place].store(wish << NewBlocks::kBlockBits | block, std::memory_order_release);
}

// One thread at a time. From now on, and until they are taken.
void want_new_blocks() noexcept;
// They are not wanted any more, whether they were taken or not.
void want_no_blocks() noexcept;
// With the threads stopped: calls fn(block, argument) for each. False: there were too many, or one was on its way. No more are wanted.
bool take_new_blocks(void (*fn)(size_t block, void* argument) noexcept, void* argument) noexcept;

}  // namespace freehold::heap
