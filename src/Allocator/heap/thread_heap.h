// What a thread keeps for itself: its figures, and the link that lets others find its allocation context.
#pragma once

#include <atomic>
#include <cstdint>

#include "heap/allocation_context.h"

namespace freehold::heap {

struct ThreadHeap {
  AllocationContext* context;  // null until the thread allocates
  // Only the owner writes; statistics read them torn by at most one object.
  uint64_t deleted_bytes;
  uint64_t deleted_objects;
  uint64_t double_deletes;
  uint64_t dead_pages;  // that this thread found dead, ever
  // Bytes beyond the limit that this thread may take: what throwing an OutOfMemoryException needs. Refilled when an allocation fails, gone when
  // one succeeds without.
  uint32_t emergency;
  // Failures of allocations in an emergency, one deeper in the stack than the other, and how deep the last was.
  uint32_t nested_failures;
  uintptr_t last_failure;
  bool registered;
  bool missed_round;       // of promotion: another thread's round or sweep was under way
  uint32_t paced_windows;  // that it begins no faster than promotion frees memory (heap/pacing.h)
  // The first so many bytes of the arena are where deletions may take the short way: all, but none before the thread is registered, in debug mode, and
  // with promotion at deletions.
  size_t direct;
  ThreadHeap* next;
  ThreadHeap** link;  // what points to this one
};

// Initial-exec: no call in the way of a deletion. It is a part of the executable, or of a library loaded with it.
[[gnu::tls_model("initial-exec")]] extern thread_local constinit ThreadHeap thread_heap;

// Puts the calling thread on the list, once.
void register_thread() noexcept;
// Takes it off and keeps its figures. The thread itself, on exit.
void unregister_thread() noexcept;

struct ThreadTotals {
  uint64_t allocated_bytes, deleted_bytes, deleted_objects, double_deletes, dead_pages;
  // Threads count on while they are added up: the difference may be a little less than nothing.
  uint64_t live_bytes() const noexcept { return allocated_bytes > deleted_bytes ? allocated_bytes - deleted_bytes : 0; }
};
// Sums over all threads, past and present.
ThreadTotals thread_totals() noexcept;
void reset_thread_totals() noexcept;  // tests only: what was counted so far counts no longer
// Memory that was not handed out by a thread's context (large, pinned).
void add_allocated(AllocationContext* context, uint64_t bytes) noexcept;

}  // namespace freehold::heap
