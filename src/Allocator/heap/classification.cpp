#include "heap/classification.h"

#include "core/arena.h"
#include "core/fault_recovery.h"
#include "core/object.h"
#include "core/stress.h"
#include "heap/addresses.h"
#include "heap/forwarding.h"
#include "heap/refused_pin.h"

namespace freehold::heap {

using core::arena;
using core::BlockState;

// Where to try again after an access to an object has failed: null when its memory is gone for good.
void* find_again(void* object) noexcept {
  auto address = reinterpret_cast<uintptr_t>(object);
  Whereabouts whereabouts = whereabouts_of(address);
  switch (whereabouts) {
    case Whereabouts::kEvacuating: wait_while_evacuating(address); return object;
    case Whereabouts::kMoved: return reinterpret_cast<void*>(current_address(address));
    case Whereabouts::kDead: return nullptr;
    case Whereabouts::kHere: break;
  }
  core::stress_step();
  // Whole: its block was being evacuated a moment ago, and is not any more. What was promoted between the questions is not, but lives.
  return is_whole(object) || whereabouts_of(address) != whereabouts ? object : nullptr;
}

AddressState classify(const void* pointer) noexcept {
  auto address = reinterpret_cast<uintptr_t>(pointer);
  if (!arena.contains(address)) return AddressState::kOutside;
  size_t block = arena.block_index(address);
  if (!was_handed_out(block)) return is_refused_pin(address) ? AddressState::kDead : AddressState::kNeverUsed;
  uint32_t probe;
  // The tables of segments that were never used have no memory: probe before reading.
  if (!core::try_load(reinterpret_cast<const uint32_t*>(&arena.blocks[block]), &probe)) return AddressState::kNeverUsed;
  switch (arena.blocks[block].state.load(std::memory_order_acquire)) {
    case BlockState::kGone:
    case BlockState::kMoved:
    case BlockState::kForwarded: return AddressState::kDead;
    case BlockState::kPooled: return AddressState::kDeletedMapped;
    case BlockState::kEvacuating:
    case BlockState::kLive: break;
  }
  if (!arena.in_lower_half(address)) return AddressState::kLive;
  size_t page = arena.page_index(address);
  if (!core::is_page_dead(page)) return AddressState::kLive;
  const auto& released = arena.blocks[block].released[page % core::kPagesPerBlock / 64];
  return (released.load(std::memory_order_acquire) >> (page % 64) & 1) != 0 ? AddressState::kDead : AddressState::kDeletedMapped;
}

bool is_whole(const void* object) noexcept {
  const auto* type = static_cast<const uint64_t*>(object);
  return classify(type - 1) == AddressState::kLive && classify(type) == AddressState::kLive && classify(type + 1) == AddressState::kLive;
}

bool is_deleted(const void* object) noexcept {
  if (!arena.contains(reinterpret_cast<uintptr_t>(object))) return false;
  uint32_t header;
  while (!core::try_load(static_cast<const uint32_t*>(object) - 2, &header)) {
    object = find_again(const_cast<void*>(object));
    if (object == nullptr) return true;
  }
  // Of a page that died whole no header says so (heap/unreached_pages.h).
  auto address = reinterpret_cast<uintptr_t>(object) - core::kHeaderSize;
  return (header & core::kDeletedBit) != 0 || (arena.in_lower_half(address) && core::is_page_dead(arena.page_index(address)));
}

bool in_arena(uintptr_t address) noexcept { return arena.contains(address); }

}  // namespace freehold::heap
