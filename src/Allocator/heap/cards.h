// Card table (Wilson and Moher, OOPSLA 1989): which pages may hold references to young objects. Two look at these only: a short round of promotion, and a young reclaim
// (heap/card_roots.h). Each has a bit of a page's byte, and a bound of its own: addresses of generation 0 are handed out in their order, so one comparison tells what is young (of
// those of the lap before, above where this one is, it says young too: heap/addresses.h). A write barrier that stores a reference above the lower of the bounds marks the page of the
// field for both (runtime/write_barriers.S).
//
// For rounds, young is what was allocated since the last walk over the whole heap. The walk clears the marks; what looks at a page
// marks it again, at the end of its round, if it still refers to something young. While a long round is under way all references to generation 0 count as young, so that what is stored
// meanwhile is found (heap/noted_fields.h).
// These marks are hints: a field whose page is not marked keeps an old name until it is used, and a fault repairs it. So no order of stores is relied on, and what stores
// without a barrier does no harm.
//
// For reclaims, young is what began since the last one. No mark may be missing (docs/internals/reclaim.md, Young reclaim): only a reclaim clears them, with the threads stopped.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/arena.h"

extern "C" {
// What the write barriers read. They know the offsets. All words are written under one lock, look_from last; a barrier reads it first, then the
// others, and x86-64 keeps both orders: whoever looks closer finds the arena.
struct alignas(64) FreeholdBarrier {
  uint64_t look_from = UINT64_MAX;    // lower references are stored, and that is all
  uint64_t marked_from = UINT64_MAX;  // the lower of young_from and reclaim_from. UINT64_MAX: nothing is remembered
  uintptr_t start = 0;                // of the arena
  uint64_t pages = 0;                 // of the arena
  uint8_t* cards = nullptr;           // a byte for each: heap::Card
  uint64_t scope_from = UINT64_MAX;   // no object of an open scope has a lower address (heap/scopes.h)
  // Not read by barriers.
  uint64_t young_from = UINT64_MAX;    // for rounds
  uint64_t reclaim_from = UINT64_MAX;  // for reclaims; written with the threads stopped
};
[[gnu::visibility("hidden")]] extern FreeholdBarrier freehold_barrier;
static_assert(offsetof(FreeholdBarrier, look_from) == 0 && offsetof(FreeholdBarrier, marked_from) == 8 && offsetof(FreeholdBarrier, start) == 16 &&
              offsetof(FreeholdBarrier, pages) == 24 && offsetof(FreeholdBarrier, cards) == 32 && offsetof(FreeholdBarrier, scope_from) == 40);

// Bit 0 while names that are stored must be current (heap/dedangling.h), bit 1 while what is stored is shaded (heap/shading.h), never both; bit 2 while a scope is open
// (heap/scope_notes.h). Written before look_from; a barrier asks only when look_from sends it there. The stop that follows the first two leaves no thread in a barrier that has seen
// the values of before. A scope needs none: who has a reference to one of its objects got it from its thread, and sees what that had written.
[[gnu::visibility("hidden")]] extern uint8_t freehold_remapping;
}

namespace freehold::heap {

// Bits of a page's byte. Barriers set both marks without an atomic operation: who clears one of them may find it set again, which does no harm, but none is lost. A barrier leaves a byte
// alone that is kMarks or more.
struct Card {
  static constexpr uint8_t kForReclaims = 0x80, kForRounds = 0x40, kMarks = kForReclaims | kForRounds;
  static constexpr uint8_t kTaken = 1;  // was kForReclaims when the last reclaim began (heap/card_roots.h)
};

// From now on references to addresses of generation 0 at or above this one are remembered for rounds. Under the lock of promotion.
void remember_from(uintptr_t address) noexcept;
// The same for reclaims. With the threads stopped, under the lock of places.
void remember_for_reclaims(uintptr_t address) noexcept;
// Barriers ask for the current name of what they store, or do not any more. Under the lock of promotion.
void set_remapping(bool remapping) noexcept;
// Barriers shade what they store, or do not any more. Under the lock of places, with the threads stopped.
void set_marking(bool marking) noexcept;
inline bool is_marking() noexcept { return (__atomic_load_n(&freehold_remapping, __ATOMIC_RELAXED) & 2) != 0; }
// Barriers note stores of references from this address on; UINT64_MAX: no scope is open any more. Any thread.
void note_stores_from(uintptr_t address) noexcept;
// Acquires: the table of noted pages was made before (heap/scope_notes.h).
inline bool is_noting_stores() noexcept { return (__atomic_load_n(&freehold_remapping, __ATOMIC_ACQUIRE) & 4) != 0; }
// In the child of a fork: a thread that was about to tell barriers something is not here.
void forget_barrier_writer() noexcept;
// Marks all pages of [destination, destination + size), which may lie anywhere. Any thread; signal-safe.
void mark_cards(const uint8_t* destination, size_t size, uint8_t marks = Card::kMarks) noexcept;
inline bool is_remembering() noexcept { return __atomic_load_n(&freehold_barrier.young_from, __ATOMIC_RELAXED) != UINT64_MAX; }
inline bool is_remembering_for_reclaims() noexcept { return __atomic_load_n(&freehold_barrier.reclaim_from, __ATOMIC_RELAXED) != UINT64_MAX; }
// For either: what barriers do.
inline bool is_marking_cards() noexcept { return __atomic_load_n(&freehold_barrier.marked_from, __ATOMIC_RELAXED) != UINT64_MAX; }

// Of a reference of the lower half: copies have bit 31 set.
inline bool is_in_generation0(uint64_t reference) noexcept { return static_cast<int32_t>(reference) >= 0; }
// Whether a reference of the lower half is young. Copies are not: nobody promotes them soon.
inline bool is_young(uint64_t reference) noexcept {
  return reference >= __atomic_load_n(&freehold_barrier.young_from, __ATOMIC_RELAXED) && is_in_generation0(reference);
}

// For rounds. By an atomic operation, as what clears it: the other bits belong to others.
inline void mark_card(size_t page) noexcept { __atomic_fetch_or(&core::arena.cards[page], Card::kForRounds, __ATOMIC_RELAXED); }

// Calls function(page) for each page of [first, end) that is marked for rounds, in their order, after clearing its mark.
template <typename Function>
void take_cards(size_t first, size_t end, Function function) noexcept {
  constexpr size_t kWord = sizeof(uint64_t);
  constexpr uint64_t kAny = ~uint64_t{0} / 0xff * Card::kForRounds;
  uint8_t* cards = core::arena.cards;
  for (size_t page = first; page < end;) {
    if (page % kWord == 0 && end - page >= kWord && (__atomic_load_n(reinterpret_cast<uint64_t*>(cards + page), __ATOMIC_RELAXED) & kAny) == 0) {
      page += kWord;
      continue;
    }
    if ((__atomic_load_n(&cards[page], __ATOMIC_RELAXED) & Card::kForRounds) != 0) {
      __atomic_fetch_and(&cards[page], static_cast<uint8_t>(~Card::kForRounds), __ATOMIC_RELAXED);
      function(page);
    }
    page++;
  }
}

}  // namespace freehold::heap
