#include "heap/cards.h"

#include "core/module_state.h"

constinit FreeholdBarrier freehold_barrier;
FREEHOLD_MODULE_STATE(freehold_barrier);
uint8_t freehold_sweeping = 0;
FREEHOLD_MODULE_STATE(freehold_sweeping);

namespace freehold::heap {

using core::arena;

namespace {

void tell_barriers() noexcept {
  bool sweeping = __atomic_load_n(&freehold_sweeping, __ATOMIC_RELAXED) != 0;
  __atomic_store_n(&freehold_barrier.look_from, sweeping ? 0 : freehold_barrier.young_from, __ATOMIC_SEQ_CST);
}

}  // namespace

void remember_from(uintptr_t address) noexcept {
  freehold_barrier.start = arena.start;
  freehold_barrier.cards = arena.cards;
  __atomic_store_n(&freehold_barrier.pages, arena.size / core::kPageSize, __ATOMIC_RELEASE);
  __atomic_store_n(&freehold_barrier.young_from, address, __ATOMIC_RELEASE);
  tell_barriers();
}

void set_sweeping(bool sweeping) noexcept {
  __atomic_store_n(&freehold_sweeping, static_cast<uint8_t>(sweeping), __ATOMIC_SEQ_CST);
  tell_barriers();
}

void mark_cards(const uint8_t* destination, size_t size) noexcept {
  auto address = reinterpret_cast<uintptr_t>(destination);
  if (!arena.contains(address)) return;
  size_t last = arena.page_index(address + size - 1);
  for (size_t page = arena.page_index(address); page <= last; page++) {
    if (__atomic_load_n(&arena.cards[page], __ATOMIC_RELAXED) == 0) mark_card(page);
  }
}

}  // namespace freehold::heap
