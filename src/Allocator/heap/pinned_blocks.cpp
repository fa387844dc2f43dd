#include "heap/pinned_blocks.h"

#include <atomic>
#include <cstdint>

#include "Platform/lock.h"
#include "core/arena.h"
#include "heap/accounting.h"
#include "heap/block_ends.h"
#include "heap/block_lists.h"
#include "heap/block_walk.h"
#include "heap/dead_pages.h"
#include "heap/huge_ends.h"
#include "heap/maintenance_signals.h"
#include "heap/pins.h"

namespace freehold::heap {

using core::arena;
using core::BlockKind;
using core::BlockRecord;
using core::BlockState;

namespace {

bool is_huge(size_t block) noexcept { return arena.blocks[block].kind == BlockKind::kHuge; }

// Blocks of small and large objects that live and whose dead pages wait for pins.
template <typename Function>
void for_each_waiting_block(Function function) noexcept {
  for_each_lower_block([&](size_t block) noexcept {
    if (arena.blocks[block].state.load(std::memory_order_acquire) == BlockState::kLive && arena.blocks[block].release_waits.load(std::memory_order_relaxed))
      function(block);
  });
}

}  // namespace

void keep_for_pins(size_t block) noexcept {
  {
    os::LockGuard guard(block_lock);
    arena.blocks[block].next = block_lists.pinned_head;
    block_lists.pinned_head = static_cast<uint32_t>(block);
  }
  note_unpinned();  // its last handle may have been freed before it was on the list
  wake_maintenance();
}

bool look_for_pins() noexcept {
  return refresh_stack_pins(
      [](void*) {
        {
          os::LockGuard guard(block_lock);
          for (uint32_t block = block_lists.pinned_head; block != kEndOfList; block = arena.blocks[block].next) forget_stack_pins(block);
        }
        for_each_waiting_block(forget_stack_pins);
      },
      nullptr);
}

size_t release_unpinned(size_t minimum_run) noexcept {
  forget_unpinned();
  uint32_t block;
  {
    os::LockGuard guard(block_lock);
    block = block_lists.pinned_head;
    block_lists.pinned_head = kEndOfList;
  }
  size_t released = 0;
  while (block != kEndOfList) {
    BlockRecord& record = arena.blocks[block];
    uint32_t next = record.next;
    if (record.handle_pins.load(std::memory_order_acquire) == 0 && record.stack_pins.load(std::memory_order_acquire) == 0) {
      if (is_huge(block)) {
        end_huge(block);
        block_counters.pinned_huge.fetch_sub(1, std::memory_order_relaxed);
      } else {
        finish_block(block);
      }
      released++;
    } else {
      {
        os::LockGuard guard(block_lock);
        record.next = block_lists.pinned_head;
        block_lists.pinned_head = block;
      }
      // Again only after its handle pins are gone: then remove_handle_pin says so.
      if (record.handle_pins.load(std::memory_order_acquire) == 0) note_unpinned();
    }
    block = next;
  }
  for_each_waiting_block([&](size_t waiting) noexcept {
    arena.blocks[waiting].release_waits.store(false, std::memory_order_relaxed);
    released += release_dead_pages(waiting, arena.blocks[waiting].kind == BlockKind::kGuarded ? 1 : minimum_run);
  });
  return released;
}

}  // namespace freehold::heap
