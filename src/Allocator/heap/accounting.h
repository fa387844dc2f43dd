// What the heap holds and may hold: the figures that its policies and the statistics go by.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "Platform/memory_budget.h"
#include "core/arena.h"

namespace freehold::heap {

// Figures that the statistics show. Written with relaxed atomics by whoever does the work.
struct BlockCounters {
  std::atomic<uint64_t> fresh, recycled, live, pooled, moved, gone_bytes, released_pages, large_objects, huge_objects, huge_bytes, mapping_splits, recounts,
      forwarded;
  std::atomic<uint64_t> prefaulted, prefaulted_taken;  // blocks that wait for a thread with their memory; those that a thread took, ever
  std::atomic<uint64_t> starting;                      // blocks that a thread is about to make live (for a moment in both counts, never in neither)
  // Pages of live blocks that are dead: this and what the threads count for themselves (dead_pages()). Pages of blocks that end are taken off here.
  std::atomic<uint64_t> dead_pages_of_no_thread;
  std::atomic<uint64_t> pinned, pinned_huge;  // dead, but something in them may be pinned: blocks, huge objects
  std::atomic<uint64_t> huge_bytes_to_go;     // of huge_bytes: deleted, and about to go (heap/huge_ends.h)
  std::atomic<uint64_t> guarded_pages;        // of guarded objects that are not deleted, and those for the next ones (heap/guarded_blocks.h)
};
extern BlockCounters block_counters;
// Dead pages of live blocks. Adds up what each thread counts.
uint64_t dead_pages() noexcept;

// How far an allocation in an emergency (ThreadHeap::emergency) may go beyond the limit.
inline constexpr size_t kEmergencyMemory = 4 * core::kBlockSize;

size_t resident_memory() noexcept;        // bytes of live, pooled and prefaulted blocks and of huge objects, released pages excepted
size_t memory_footprint() noexcept;       // the same without the pool, what is prefaulted, and the memory of huge objects that is about to go
size_t compactable_footprint() noexcept;  // of that, what compaction could make smaller: guarded objects do not move
size_t mappings() noexcept;               // upper bound of the kernel mappings in the arena
void set_limit(size_t bytes) noexcept;
// What was set for this heap.
size_t own_limit() noexcept;
// That, or what the process's budget of memory leaves to this heap at the moment if that is less.
size_t limit() noexcept;
// This heap as the budget knows it. heap/giving_back.h fills in the rest before it joins.
extern constinit os::BudgetOwner budget_owner;
// Whether it is the other heaps of the process that leave no room for `more` bytes.
bool is_short_of_budget(size_t more) noexcept;
// Whether there is room for `more` bytes that nobody needs: nothing is refused, and no emergency begins.
bool has_room_to_spare(size_t more) noexcept;
// Whether `more` bytes would be beyond the limit, and what this thread may take in an emergency.
bool is_over_limit(size_t more) noexcept;
// Whether a block for a large array may go beyond the limit: half of what emergencies have is for objects and for promotion.
bool has_room_for_large() noexcept;

}  // namespace freehold::heap
