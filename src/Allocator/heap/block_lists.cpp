#include "heap/block_lists.h"

#include "core/arena.h"
#include "core/module_state.h"
#include "heap/accounting.h"
#include "heap/addresses.h"

namespace freehold::heap {

using core::arena;
using core::BlockState;

os::Lock block_lock;
BlockLists block_lists;
FREEHOLD_MODULE_STATE(block_lists);

size_t pop_pooled() noexcept {
  if (block_lists.pool_head == kEndOfList) return kNoBlock;
  size_t block = block_lists.pool_head;
  block_lists.pool_head = arena.blocks[block].next;
  block_lists.pool_size--;
  if (block_lists.pool_size < block_lists.pool_minimum) block_lists.pool_minimum = block_lists.pool_size;
  block_counters.pooled.store(block_lists.pool_size, std::memory_order_relaxed);
  return block;
}

void push_pooled(size_t block) noexcept {
  arena.blocks[block].next = block_lists.pool_head;
  block_lists.pool_head = static_cast<uint32_t>(block);
  block_lists.pool_size++;
  block_counters.pooled.store(block_lists.pool_size, std::memory_order_relaxed);
}

size_t pop_prefaulted() noexcept {
  if (block_lists.prefaulted_head == kEndOfList) return kNoBlock;
  size_t block = block_lists.prefaulted_head;
  block_lists.prefaulted_head = arena.blocks[block].next;
  arena.blocks[block].next = 0;
  block_counters.starting.fetch_add(1, std::memory_order_relaxed);
  block_counters.prefaulted.fetch_sub(1, std::memory_order_relaxed);
  return block;
}

void push_moved(size_t block) noexcept {
  arena.blocks[block].next = block_lists.moved_head;
  block_lists.moved_head = static_cast<uint32_t>(block);
  block_lists.moved_size++;
  block_counters.moved.store(block_lists.moved_size, std::memory_order_relaxed);
  arena.blocks[block].state.store(BlockState::kMoved, std::memory_order_release);
}

}  // namespace freehold::heap
