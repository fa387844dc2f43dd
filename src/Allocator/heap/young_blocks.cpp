#include "heap/young_blocks.h"

#include <algorithm>

#include "Platform/lock.h"
#include "core/module_state.h"
#include "core/object.h"
#include "heap/addresses.h"
#include "heap/block_lists.h"
#include "heap/card_roots.h"
#include "heap/cards.h"
#include "os/kernel.h"

namespace freehold::heap {

using core::arena;

YoungBlocks young_blocks;

namespace {

size_t bytes_of_bits() noexcept { return core::align_up(arena.block_count() / 8, os::kPageSize); }

struct State {
  size_t size = 0;

  // For a test that begins anew.
  void release() noexcept {
    std::atomic<uint64_t>* bits = young_blocks.bits.exchange(nullptr, std::memory_order_relaxed);
    os::unreserve_at(bits, size);
  }
};
constinit State state;
FREEHOLD_MODULE_STATE(state);

// Blocks that have got their memory before they begin lie below the lap.
uintptr_t lowest_to_begin() noexcept {
  size_t lowest = lap_position();
  os::LockGuard guard(block_lock);
  for (uint32_t block = block_lists.prefaulted_head; block != kEndOfList; block = arena.blocks[block].next) lowest = std::min<size_t>(lowest, block);
  return reinterpret_cast<uintptr_t>(arena.block_start(lowest));
}

uintptr_t bound() noexcept { return __atomic_load_n(&freehold_barrier.reclaim_from, __ATOMIC_RELAXED); }

}  // namespace

bool reserve_young_blocks() noexcept {
  if (young_blocks.bits.load(std::memory_order_relaxed) != nullptr) return true;
  void* bits = os::reserve(bytes_of_bits(), os::kPageSize, 0);
  if (bits == nullptr) return false;
  if (!os::commit(bits, bytes_of_bits())) {
    os::unreserve(bits, bytes_of_bits());
    return false;
  }
  state.size = bytes_of_bits();
  young_blocks.bits.store(static_cast<std::atomic<uint64_t>*>(bits), std::memory_order_release);
  return true;
}

void begin_young_blocks() noexcept {
  std::atomic<uint64_t>* bits = young_blocks.bits.load(std::memory_order_relaxed);
  for (size_t word = 0; word <= lower_frontier() / 64; word++) {
    if (bits[word].load(std::memory_order_relaxed) != 0) bits[word].store(0, std::memory_order_relaxed);
  }
  take_marked_pages();
  remember_for_reclaims(lowest_to_begin());
}

bool are_blocks_young() noexcept { return is_remembering_for_reclaims(); }

YoungWords young_words() noexcept {
  if (!are_blocks_young()) return {0, 0};
  return {arena.block_index(bound()) / 64, lower_frontier() / 64 + 1};
}

bool is_young_block(size_t block) noexcept {
  const std::atomic<uint64_t>* bits = young_blocks.bits.load(std::memory_order_acquire);
  return bits != nullptr && reinterpret_cast<uintptr_t>(arena.block_start(block)) >= bound() &&
         (bits[block / 64].load(std::memory_order_acquire) >> (block % 64) & 1) != 0;
}

}  // namespace freehold::heap
