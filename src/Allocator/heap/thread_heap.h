// What a thread keeps for itself: its figures, and the link that lets others find its allocation context.
#pragma once

#include <atomic>
#include <cstdint>

#include "heap/allocation_context.h"

namespace freehold::heap {

struct ThreadScopes;

struct ThreadHeap {
  AllocationContext* context;  // null until the thread allocates
  // Only the owner writes; statistics read them torn by at most one object.
  uint64_t deleted_bytes;
  uint64_t deleted_objects;
  uint64_t double_deletes;
  uint64_t dead_pages;  // that this thread found dead, ever
  // Bytes of the reserve, or beyond the limit, that this thread may take: what throwing and handling an OutOfMemoryException needs. Refilled when an allocation
  // fails, gone when the thread has allocated for a while without (recovered_at, in bytes allocated). `large`: for arrays that the first does not have room for.
  uint32_t emergency;
  uint32_t emergency_large;
  int64_t recovered_at;
  // Failures of allocations in an emergency, one deeper in the stack than the other, and how deep the last was.
  uint32_t nested_failures;
  uintptr_t last_failure;
  bool registered;
  bool missed_round;       // of promotion: another thread's round or remap was under way
  int64_t sample_at;       // bytes allocated, when it samples an object (heap/allocation_samples.h); 0: not chosen yet
  bool is_sample_pending;  // that was within memory that it had been given: the next object that needs more is the one
  int64_t look_at;         // bytes allocated, when it looks at deaths (heap/death_look.h); 0: another thread does, or nobody
  bool is_shift_due;       // it has sampled one since it last shifted what it allocates
  bool is_not_sampled;     // what it allocates is not the program's
  // Of the choice of guarded objects (heap/guarded_choice.h).
  int64_t guard_seen;       // bytes of its chunks, up to the end of the window where it was asked last
  int64_t guard_countdown;  // to the next one, in parts of an object; 0: not chosen yet
  int64_t guard_shifted;    // `guard_seen` when what it allocates was shifted last
  size_t guard_unplaced;    // bytes of chosen objects that are not in its chunks, since then
  uint8_t guard_larger;     // of windows of 32 KB where an object met what it got more than a page for: 1, this one; 2, the one before
  // Its stack says nothing of what it deletes: no name leads there any more (heap/unreached_objects.h), or it was another deletion that had to wait.
  bool has_no_part_in_deletion;
  uint32_t paced_windows;  // that it begins no faster than promotion frees memory (heap/pacing.h)
  // The first so many bytes of the arena are where deletions may take the short way: all, but none before the thread is registered, in debug mode, and
  // with promotion at deletions.
  size_t direct;
  bool finalizes;        // it is the finalizer thread: nothing waits for finalizers there
  ThreadScopes* scopes;  // heap/scopes.h; null until the thread begins one. Changed under the lock of the list
  ThreadHeap* next;
  ThreadHeap** link;  // what points to this one
};

// Initial-exec: no call in the way of a deletion. It is a part of the executable, or of a library loaded with it.
[[gnu::tls_model("initial-exec")]] extern thread_local constinit ThreadHeap thread_heap;

// Puts the calling thread on the list, once.
void register_thread() noexcept;
// Takes it off and keeps its figures. The thread itself, on exit.
void unregister_thread() noexcept;

// In the child of a fork, before it has other threads: those of the parent are not here, and what was their memory is the next threads'. Their figures count.
void forget_other_threads() noexcept;

// No thread reads or changes the list between the two: whoever forks would leave its lock held in the child.
void lock_thread_list() noexcept;
void unlock_thread_list() noexcept;

struct ThreadTotals {
  uint64_t allocated_bytes, deleted_bytes, deleted_objects, double_deletes, dead_pages;
  // Threads count on while they are added up: the difference may be a little less than nothing.
  uint64_t live_bytes() const noexcept { return allocated_bytes > deleted_bytes ? allocated_bytes - deleted_bytes : 0; }
};
// Calls fn for each context that a thread allocates from. With the threads stopped: none of them changes meanwhile.
void for_each_context(void (*fn)(const AllocationContext& context) noexcept) noexcept;
// The same for all that is kept for a thread.
void for_each_thread_heap(void (*fn)(const ThreadHeap& heap, void* argument) noexcept, void* argument) noexcept;
// Sums over all threads, past and present.
ThreadTotals thread_totals() noexcept;
// The same for policies that ask for each block that is taken. Of more than kThreadsAddedUp threads it may be a millisecond old, or some times as old as adding them up takes.
inline constexpr size_t kThreadsAddedUp = 64;
ThreadTotals recent_totals() noexcept;
// Memory that was not handed out by a thread's context (large, pinned).
void add_allocated(AllocationContext* context, uint64_t bytes) noexcept;

}  // namespace freehold::heap
