#include "heap/forwarding.h"

#include <sched.h>

#include <atomic>

#include "core/fault_recovery.h"
#include "platform/lock.h"
#include "platform/os.h"

namespace freehold::heap {

using core::arena;
using core::BlockState;

namespace {

constexpr uint32_t kNone = UINT32_MAX;
constexpr size_t kAtMost = size_t{1} << 20;  // 2 TB of promoted addresses
constexpr size_t kStride = (sizeof(Forwarding) + os::kPageSize - 1) & ~(os::kPageSize - 1);

os::Lock lock;
uint8_t* tables = nullptr;
uint32_t used = 0, free_count = 0;
uint32_t free_head = kNone;  // a free table's first word is the next one

Forwarding* table(uint32_t number) noexcept { return reinterpret_cast<Forwarding*>(tables + number * kStride); }

// The copy of what lay at `address`, or 0.
uintptr_t forwarded(const core::BlockRecord& record, uintptr_t address) noexcept {
  const Forwarding& forwarding = *table(record.next);
  uintptr_t before = address - 1;
  size_t unit = (before - arena.start) % core::kBlockSize / core::kUnit, word = unit / 64;
  uint64_t bit = uint64_t{1} << (unit % 64);
  if ((forwarding.live[word] & bit) == 0) return 0;
  uint32_t rank = forwarding.rank[unit / core::kUnitsPerPage];
  for (size_t i = unit / core::kUnitsPerPage * (core::kUnitsPerPage / 64); i < word; i++) rank += static_cast<uint32_t>(__builtin_popcountll(forwarding.live[i]));
  rank += static_cast<uint32_t>(__builtin_popcountll(forwarding.live[word] & (bit - 1)));
  uintptr_t start = rank < forwarding.split ? forwarding.target[0] + rank * core::kUnit : forwarding.target[1] + (rank - forwarding.split) * core::kUnit;
  return start + before % core::kUnit + 1;
}

core::BlockRecord& record_before(uintptr_t address) noexcept { return arena.blocks[arena.block_index(address - 1)]; }

// The state of the block that holds the byte before an address of the lower half. The tables of segments that were never used have no memory, and
// a wild reference may ask for them.
BlockState state_before(uintptr_t address) noexcept {
  static_assert(offsetof(core::BlockRecord, state) == 0);
  uint32_t head;
  if (!core::try_load(reinterpret_cast<const uint32_t*>(&record_before(address)), &head)) return BlockState::kGone;
  return static_cast<BlockState>(head & 0xff);
}

}  // namespace

uintptr_t current_address(uintptr_t address) noexcept {
  while (arena.in_lower_half(address - 1)) {
    if (state_before(address) != BlockState::kForwarded) return address;
    uintptr_t next = forwarded(record_before(address), address);
    if (next == 0) return address;
    address = next;
  }
  return address;
}

void current_addresses(uintptr_t* a, uintptr_t* b) noexcept {
  uintptr_t first = current_address(*a), second, again;
  while (true) {
    second = current_address(*b);
    again = current_address(first);
    if (again == first) break;  // so it was when the second one was asked for
    first = again;
  }
  *a = first;
  *b = second;
}

bool is_same(uintptr_t a, uintptr_t b) noexcept {
  current_addresses(&a, &b);
  return a == b;
}

Whereabouts whereabouts_of(uintptr_t address) noexcept {
  if (!arena.in_lower_half(address - 1)) return Whereabouts::kHere;
  switch (state_before(address)) {
    case BlockState::kFrozen: return Whereabouts::kFrozen;
    case BlockState::kForwarded: return forwarded(record_before(address), address) != 0 ? Whereabouts::kMoved : Whereabouts::kDead;
    default: return Whereabouts::kHere;
  }
}

void wait_while_frozen(uintptr_t address) noexcept {
  while (state_before(address) == BlockState::kFrozen) sched_yield();
}

Forwarding* make_forwarding(uint32_t* number) noexcept {
  os::LockGuard guard(lock);
  if (free_head != kNone) {
    *number = free_head;
    free_head = static_cast<uint32_t>(table(free_head)->live[0]);
    free_count--;
    // Zeros again, and no memory until they are written.
    if (!os::discard(table(*number), kStride)) return nullptr;
    return table(*number);
  }
  if (tables == nullptr) {
    tables = static_cast<uint8_t*>(os::reserve(kAtMost * kStride, os::kPageSize, 0));
    if (tables == nullptr) return nullptr;
  }
  if (used == kAtMost || !os::commit(tables + used * kStride, kStride)) return nullptr;
  *number = used++;
  return table(*number);
}

void drop_forwarding(uint32_t number) noexcept {
  os::LockGuard guard(lock);
  os::discard(table(number), kStride);
  table(number)->live[0] = free_head;
  free_head = number;
  free_count++;
}

size_t forwarding_bytes() noexcept {
  os::LockGuard guard(lock);
  return (used - free_count) * kStride;
}

void reset_forwardings() noexcept {
  if (tables != nullptr) os::unreserve(tables, kAtMost * kStride);
  tables = nullptr;
  used = free_count = 0;
  free_head = kNone;
}

}  // namespace freehold::heap
