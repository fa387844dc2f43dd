#include "heap/huge_ends.h"

#include <new>

#include "Platform/lock.h"
#include "core/arena.h"
#include "core/module_state.h"
#include "heap/accounting.h"
#include "heap/block_ends.h"
#include "heap/block_lists.h"
#include "heap/maintenance_signals.h"
#include "heap/phases.h"

namespace freehold::heap {

using core::arena;

namespace {

struct State {
  os::Lock lock;  // whoever has it ends those on the list. Taken before the lock of maintenance
};
constinit State state;
FREEHOLD_MODULE_STATE(state);

void put_on_list(size_t block) noexcept {
  os::LockGuard guard(block_lock);
  auto put = static_cast<uint32_t>(block);
  arena.blocks[block].next = kEndOfList;
  if (block_lists.huge_head == kEndOfList) block_lists.huge_head = put;
  else arena.blocks[block_lists.huge_tail].next = put;
  block_lists.huge_tail = put;
  block_counters.huge_bytes_to_go.fetch_add(memory_of_huge(block), std::memory_order_relaxed);
}

uint32_t newest() noexcept {
  os::LockGuard guard(block_lock);
  return block_lists.huge_head == kEndOfList ? kEndOfList : block_lists.huge_tail;
}

// It is in block_lists.huge_ending from here on.
bool take_from_list() noexcept {
  os::LockGuard guard(block_lock);
  block_lists.huge_ending = block_lists.huge_head;
  if (block_lists.huge_ending == kEndOfList) return false;
  block_lists.huge_head = arena.blocks[block_lists.huge_ending].next;
  return true;
}

// The caller has the lock.
void end_all_listed() noexcept {
  // What others put there meanwhile is theirs: else this thread might never come back.
  const uint32_t last = newest();
  for (size_t block = kEndOfList; block != last && take_from_list();) {
    block = block_lists.huge_ending;
    {
      os::LockGuard guard(maintenance_lock);
      begin_end_of_huge(block);
    }
    give_memory_of_huge_back(block);
    os::LockGuard guard(maintenance_lock);
    {
      os::LockGuard lists(block_lock);
      block_lists.huge_ending = kEndOfList;
    }
    block_counters.huge_bytes_to_go.fetch_sub(memory_of_huge(block), std::memory_order_relaxed);
    finish_end_of_huge(block);
  }
}

}  // namespace

bool end_huge(size_t block) noexcept {
  if (size_t{arena.blocks[block].huge_pages} * core::kPageSize <= kEndsAtOnce) {
    begin_end_of_huge(block);
    give_memory_of_huge_back(block);
    finish_end_of_huge(block);
    return true;
  }
  put_on_list(block);
  wake_maintenance();
  return false;
}

// Who stops the threads takes the lock of maintenance, and sees records that do not change. It does not wait for the memory.
void end_listed_huge() noexcept {
  os::LockGuard ending(state.lock);
  end_all_listed();
}

void end_listed_huge_unless_busy() noexcept {
  if (!has_listed_huge() || !state.lock.try_lock()) return;
  end_all_listed();
  state.lock.unlock();
}

bool has_listed_huge() noexcept { return block_counters.huge_bytes_to_go.load(std::memory_order_relaxed) != 0; }

void forget_ending_threads() noexcept {
  new (&state.lock) os::Lock();
  if (block_lists.huge_ending != kEndOfList) {
    // All of it again: what is done already stays so.
    if (block_lists.huge_head == kEndOfList) block_lists.huge_tail = block_lists.huge_ending;
    arena.blocks[block_lists.huge_ending].next = block_lists.huge_head;
    block_lists.huge_head = block_lists.huge_ending;
    block_lists.huge_ending = kEndOfList;
  }
  uint64_t listed = 0;
  for (uint32_t block = block_lists.huge_head; block != kEndOfList; block = arena.blocks[block].next) listed += memory_of_huge(block);
  block_counters.huge_bytes_to_go.store(listed, std::memory_order_relaxed);
}

}  // namespace freehold::heap
