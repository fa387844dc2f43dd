// Card table (Wilson and Moher, OOPSLA 1989): which pages may hold references to young objects, so that a short round of promotion looks at these only.
//
// Young is what was allocated since the last walk over the whole heap: addresses of generation 0 are handed out in their order, so one comparison tells (of
// those of the lap before, above where this one is, it says young too: heap/addresses.h).
// A write barrier that stores a young reference marks the page of the field (runtime/write_barriers.S). The walk clears the marks; what looks at a page
// marks it again, at the end of its round, if it still refers to something young. While a long round is under way all references to generation 0 count as young, so that what is stored
// meanwhile is found (heap/noted_fields.h).
// Hints: a field whose page is not marked keeps an old name until it is used, and a fault repairs it. So no order of stores is relied on, and what stores
// without a barrier does no harm.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/arena.h"

extern "C" {
// What the write barriers read. They know the offsets. All words are written under one lock, look_from last; a barrier reads it first, then the
// others, and x86-64 keeps both orders: whoever looks closer finds the arena.
struct alignas(64) FreeholdBarrier {
  uint64_t look_from = UINT64_MAX;   // lower references are stored, and that is all
  uint64_t young_from = UINT64_MAX;  // UINT64_MAX: nothing is remembered
  uintptr_t start = 0;               // of the arena
  uint64_t pages = 0;                // of the arena
  uint8_t* cards = nullptr;          // a byte for each: 1 = marked
  uint64_t scope_from = UINT64_MAX;  // no object of an open scope has a lower address (heap/scopes.h)
};
[[gnu::visibility("hidden")]] extern FreeholdBarrier freehold_barrier;
static_assert(offsetof(FreeholdBarrier, look_from) == 0 && offsetof(FreeholdBarrier, young_from) == 8 && offsetof(FreeholdBarrier, start) == 16 &&
              offsetof(FreeholdBarrier, pages) == 24 && offsetof(FreeholdBarrier, cards) == 32 && offsetof(FreeholdBarrier, scope_from) == 40);

// Bit 0 while names that are stored must be current (heap/dedangling.h), bit 1 while what is stored is shaded (heap/shading.h), never both; bit 2 while a scope is open
// (heap/scope_notes.h). Written before look_from; a barrier asks only when look_from sends it there. The stop that follows the first two leaves no thread in a barrier that has seen
// the values of before. A scope needs none: who has a reference to one of its objects got it from its thread, and sees what that had written.
[[gnu::visibility("hidden")]] extern uint8_t freehold_remapping;
}

namespace freehold::heap {

// From now on references to addresses of generation 0 at or above this one are remembered. Under the lock of promotion.
void remember_from(uintptr_t address) noexcept;
// Barriers ask for the current name of what they store, or do not any more. Under the lock of promotion.
void set_remapping(bool remapping) noexcept;
// Barriers shade what they store, or do not any more. Under the lock of places, with the threads stopped.
void set_marking(bool marking) noexcept;
inline bool is_marking() noexcept { return (__atomic_load_n(&freehold_remapping, __ATOMIC_RELAXED) & 2) != 0; }
// Barriers note stores of references from this address on; UINT64_MAX: no scope is open any more. Any thread.
void note_stores_from(uintptr_t address) noexcept;
inline bool is_noting_stores() noexcept { return (__atomic_load_n(&freehold_remapping, __ATOMIC_RELAXED) & 4) != 0; }
// In the child of a fork: a thread that was about to tell barriers something is not here.
void forget_barrier_writer() noexcept;
// Marks all pages of [destination, destination + size), which may lie anywhere. Any thread.
void mark_cards(const uint8_t* destination, size_t size) noexcept;
inline bool is_remembering() noexcept { return __atomic_load_n(&freehold_barrier.young_from, __ATOMIC_RELAXED) != UINT64_MAX; }

// Of a reference of the lower half: copies have bit 31 set.
inline bool is_in_generation0(uint64_t reference) noexcept { return static_cast<int32_t>(reference) >= 0; }
// Whether a reference of the lower half is young. Copies are not: nobody promotes them soon.
inline bool is_young(uint64_t reference) noexcept {
  return reference >= __atomic_load_n(&freehold_barrier.young_from, __ATOMIC_RELAXED) && is_in_generation0(reference);
}

inline void mark_card(size_t page) noexcept { __atomic_store_n(&core::arena.cards[page], uint8_t{1}, __ATOMIC_RELAXED); }

// Calls function(page) for each marked page of [first, end), in their order, after clearing its mark.
template <typename Function>
void take_cards(size_t first, size_t end, Function function) noexcept {
  constexpr size_t kWord = sizeof(uint64_t);
  uint8_t* cards = core::arena.cards;
  for (size_t page = first; page < end;) {
    if (page % kWord == 0 && end - page >= kWord && __atomic_load_n(reinterpret_cast<uint64_t*>(cards + page), __ATOMIC_RELAXED) == 0) {
      page += kWord;
      continue;
    }
    if (__atomic_load_n(&cards[page], __ATOMIC_RELAXED) != 0) {
      __atomic_store_n(&cards[page], uint8_t{0}, __ATOMIC_RELAXED);
      function(page);
    }
    page++;
  }
}

}  // namespace freehold::heap
