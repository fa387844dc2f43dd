#include "heap/guarded_blocks.h"

#include "Platform/lock.h"
#include "core/arena.h"
#include "core/fault_recovery.h"
#include "core/knobs.h"
#include "core/module_state.h"
#include "heap/accounting.h"
#include "heap/thread_heap.h"

namespace freehold::heap {

using core::arena;
using core::BlockKind;
using core::kPagesPerBlock;

GuardedCounters guarded_counters;
FREEHOLD_MODULE_STATE(guarded_counters);

namespace {

constexpr size_t kForgotten = SIZE_MAX;

os::Lock lock;  // guards what follows. Nothing is locked behind it
struct State {
  size_t blocks[kGuardedBlocks] = {};  // a ring; kForgotten: the addresses are another's by now
  size_t given_up = 0, begun = 0;      // ever: those from the first to before the second are in the ring
};
constinit State state;
FREEHOLD_MODULE_STATE(state);

bool is_full(uint64_t alive_at_most) noexcept { return guarded_counters.alive.load(std::memory_order_relaxed) >= alive_at_most; }

// Caller holds the lock.
void give_up(size_t block) noexcept {
  size_t alive = forget_guarded_block(block);
  guarded_counters.alive.fetch_sub(alive, std::memory_order_relaxed);
  guarded_counters.held.fetch_sub(kPagesPerBlock - alive, std::memory_order_relaxed);
  block_counters.guarded_pages.fetch_sub(alive, std::memory_order_relaxed);
  // Whoever reads the old kind treats what is deleted just now as guarded: its page goes at once, and its record is gone.
  core::BlockRecord& record = arena.blocks[block];
  if (record.kind == BlockKind::kGuarded) record.kind.store(BlockKind::kSmall, std::memory_order_relaxed);
}

// Caller holds the lock.
void give_up_oldest() noexcept {
  size_t& place = state.blocks[state.given_up++ % kGuardedBlocks];
  if (place != kForgotten) give_up(place);
  place = kForgotten;
}

}  // namespace

bool make_room_for_guarded(uint64_t alive_at_most) noexcept {
  if (!is_full(alive_at_most)) return true;
  os::LockGuard guard(lock);
  // Not the last one: pages are still taken from it.
  while (is_full(alive_at_most) && state.given_up + 1 < state.begun) give_up_oldest();
  return !is_full(alive_at_most);
}

void remember_guarded_block(size_t block) noexcept {
  os::LockGuard guard(lock);
  if (state.begun - state.given_up == kGuardedBlocks) give_up_oldest();
  state.blocks[state.begun++ % kGuardedBlocks] = block;
  block_counters.guarded_pages.fetch_add(kPagesPerBlock, std::memory_order_relaxed);
}

bool remember_guarded(const uint8_t* start, uint32_t stack) noexcept {
  // Before anybody can take it off.
  guarded_counters.alive.fetch_add(1, std::memory_order_relaxed);
  if (!note_guarded(start, stack)) {
    guarded_counters.alive.fetch_sub(1, std::memory_order_relaxed);
    return false;
  }
  guarded_counters.taken.fetch_add(1, std::memory_order_relaxed);
  return true;
}

void note_guarded_end(size_t page) noexcept {
  const uint8_t* start = arena.page_start(page);
  uint64_t type;
  // Another thread has noted the end, and the page is gone.
  if (!core::try_load(reinterpret_cast<const uint64_t*>(start + core::kHeaderSize), &type) || type == 0) return;
  // Before give_up() can take it off: no figure is ever less than 0.
  guarded_counters.held.fetch_add(1, std::memory_order_relaxed);
  if (!note_guarded_deleted(start, reinterpret_cast<const core::MethodTable*>(type), !thread_heap.has_no_part_in_deletion)) {
    guarded_counters.held.fetch_sub(1, std::memory_order_relaxed);
    return;
  }
  guarded_counters.alive.fetch_sub(1, std::memory_order_relaxed);
  block_counters.guarded_pages.fetch_sub(1, std::memory_order_relaxed);
}

void note_caught(const History& history) noexcept {
  if (history.type != nullptr && core::knobs.guards_samples()) guarded_counters.caught.fetch_add(1, std::memory_order_relaxed);
}

void forget_guarded_blocks(size_t first, size_t count) noexcept {
  if (!core::knobs.guards_samples()) return;
  {
    os::LockGuard guard(lock);
    for (size_t i = state.given_up; i < state.begun; i++) {
      size_t& place = state.blocks[i % kGuardedBlocks];
      if (place - first >= count) continue;
      give_up(place);
      place = kForgotten;
    }
  }
  forget_history(first, count);
}

}  // namespace freehold::heap
