#include "heap/cards.h"

#include <algorithm>
#include <new>

#include "Platform/lock.h"
#include "core/module_state.h"

constinit FreeholdBarrier freehold_barrier;
FREEHOLD_MODULE_STATE(freehold_barrier);
uint8_t freehold_remapping = 0;
FREEHOLD_MODULE_STATE(freehold_remapping);

namespace freehold::heap {

using core::arena;

namespace {

os::Lock lock;  // whoever has it writes what the barriers read
constexpr uint8_t kRemapping = 1, kMarking = 2, kScopes = 4;

void tell_barriers() noexcept {
  __atomic_store_n(&freehold_barrier.marked_from, std::min(freehold_barrier.young_from, freehold_barrier.reclaim_from), __ATOMIC_RELEASE);
  bool all = (__atomic_load_n(&freehold_remapping, __ATOMIC_RELAXED) & (kRemapping | kMarking)) != 0;
  __atomic_store_n(&freehold_barrier.look_from, all ? 0 : std::min(freehold_barrier.marked_from, freehold_barrier.scope_from), __ATOMIC_SEQ_CST);
}

void set_state(uint8_t bit, bool on) noexcept {
  uint8_t before = __atomic_load_n(&freehold_remapping, __ATOMIC_RELAXED);
  __atomic_store_n(&freehold_remapping, static_cast<uint8_t>(on ? before | bit : before & ~bit), __ATOMIC_SEQ_CST);
}

void set_bound(uint64_t* bound, uintptr_t address) noexcept {
  os::LockGuard guard(lock);
  freehold_barrier.start = arena.start;
  freehold_barrier.cards = arena.cards;
  __atomic_store_n(&freehold_barrier.pages, arena.size / core::kPageSize, __ATOMIC_RELEASE);
  __atomic_store_n(bound, address, __ATOMIC_RELEASE);
  tell_barriers();
}

}  // namespace

void remember_from(uintptr_t address) noexcept { set_bound(&freehold_barrier.young_from, address); }
void remember_for_reclaims(uintptr_t address) noexcept { set_bound(&freehold_barrier.reclaim_from, address); }

void set_remapping(bool remapping) noexcept {
  os::LockGuard guard(lock);
  set_state(kRemapping, remapping);
  tell_barriers();
}

void set_marking(bool marking) noexcept {
  os::LockGuard guard(lock);
  set_state(kMarking, marking);
  tell_barriers();
}

void note_stores_from(uintptr_t address) noexcept {
  os::LockGuard guard(lock);
  __atomic_store_n(&freehold_barrier.scope_from, address, __ATOMIC_SEQ_CST);
  set_state(kScopes, address != UINT64_MAX);
  tell_barriers();
}

void forget_barrier_writer() noexcept { new (&lock) os::Lock(); }

void mark_cards(const uint8_t* destination, size_t size, uint8_t marks) noexcept {
  auto address = reinterpret_cast<uintptr_t>(destination);
  if (!arena.contains(address) || size == 0) return;
  size_t last = arena.page_index(address + size - 1);
  for (size_t page = arena.page_index(address); page <= last; page++) {
    if ((__atomic_load_n(&arena.cards[page], __ATOMIC_RELAXED) & marks) != marks) __atomic_fetch_or(&arena.cards[page], marks, __ATOMIC_RELAXED);
  }
}

}  // namespace freehold::heap
