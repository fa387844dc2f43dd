// Where references to objects of open scopes may be (heap/scopes.h): pages to which something was stored since the scope began, by whatever thread. A barrier notes the page of a
// field before it stores (runtime/write_barriers.S), a block move the pages that it has moved to, promotion those of its copies. A reference from one object of a scope to
// another is not noted, if its own thread stores it and both lie in the chunk that this allocates from. Only a stop empties the notes, and none leaves a thread in a barrier.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "heap/cards.h"

extern "C" {
// Of the calling thread's innermost scope: the piece of its chunk that it fills. No size: it has no scope. The barriers know the offsets.
struct FreeholdScopeRange {
  uintptr_t start, size;
};
[[gnu::visibility("hidden"), gnu::tls_model("initial-exec")]] extern thread_local constinit FreeholdScopeRange freehold_scope_range;

// For the barriers, while freehold_remapping is not 0: notes the page of `location`, if a scope may care, and returns freehold_current_name(reference).
[[gnu::visibility("hidden")]] uint64_t freehold_before_store(uint64_t reference, uint64_t location) noexcept;
}

namespace freehold::heap {

// What was noted since the last stop that took the notes over (heap/noted_pages.h): each page once.
struct ScopeNotes {
  std::atomic<uint64_t>* table = nullptr;  // addresses / kPageSize, inside the arena or not; by hash, 0: free
  std::atomic<uint32_t>* slots = nullptr;  // places in the table that are taken, in the order of time
  std::atomic<size_t> count{0};            // more than kMost if pages were lost
  std::atomic<uint64_t> epoch{1};          // a new one when notes were taken over

  static constexpr size_t kMost = size_t{1} << 20, kSlots = 2 * kMost;
};
extern ScopeNotes scope_notes;

// The end of the calling thread's stack, where it begins; 0: not known. What is stored on stacks is found there.
[[gnu::tls_model("initial-exec")]] extern thread_local constinit uintptr_t own_stack_end;

// Memory for the notes, once. False: there is none.
bool reserve_scope_notes() noexcept;
// All pages of [start, start + size), current names. Any thread.
void note_scope_pages(uintptr_t start, size_t size) noexcept;
// A block move has stored references there; any name. On the thread that moved, before its next safe point.
void note_moved_into(uintptr_t destination, size_t size) noexcept;

}  // namespace freehold::heap
