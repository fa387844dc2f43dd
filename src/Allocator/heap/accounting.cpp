#include "heap/accounting.h"

#include <new>

#include "core/module_state.h"
#include "heap/thread_heap.h"

namespace freehold::heap {

using core::kBlockSize;
using core::kPageSize;

BlockCounters block_counters;
FREEHOLD_MODULE_STATE(block_counters);

namespace {

struct State {
  size_t memory_limit = SIZE_MAX - kEmergencyMemory;
};
constinit State state;
FREEHOLD_MODULE_STATE(state);

}  // namespace

uint64_t dead_pages() noexcept {
  // Threads count on meanwhile: the sum may be a little less than nothing.
  auto sum = static_cast<int64_t>(block_counters.dead_pages_of_no_thread.load(std::memory_order_relaxed) + thread_totals().dead_pages);
  return sum > 0 ? static_cast<uint64_t>(sum) : 0;
}

size_t resident_memory() noexcept {
  auto load = [](const std::atomic<uint64_t>& counter) noexcept { return counter.load(std::memory_order_relaxed); };
  return (load(block_counters.live) + load(block_counters.starting) + load(block_counters.prefaulted) + load(block_counters.pooled) +
          load(block_counters.pinned)) *
             kBlockSize +
         load(block_counters.huge_bytes) - load(block_counters.released_pages) * kPageSize;
}

size_t memory_footprint() noexcept {
  size_t spare = (block_counters.pooled.load(std::memory_order_relaxed) + block_counters.prefaulted.load(std::memory_order_relaxed)) * kBlockSize,
         resident = resident_memory();
  return resident > spare ? resident - spare : 0;
}

// Each live or pooled block at most one mapping of its own and one of reserved space behind it, each moved one its empty mapping.
size_t mappings() noexcept {
  constexpr size_t kTables = 64;
  return 2 * (block_counters.live.load(std::memory_order_relaxed) + block_counters.pooled.load(std::memory_order_relaxed) +
              block_counters.prefaulted.load(std::memory_order_relaxed) + block_counters.pinned.load(std::memory_order_relaxed)) +
         block_counters.moved.load(std::memory_order_relaxed) + block_counters.forwarded.load(std::memory_order_relaxed) +
         2 * block_counters.huge_objects.load(std::memory_order_relaxed) + block_counters.mapping_splits.load(std::memory_order_relaxed) + kTables;
}

void set_limit(size_t bytes) noexcept { state.memory_limit = bytes; }
size_t limit() noexcept { return state.memory_limit; }

bool is_over_limit(size_t more) noexcept { return resident_memory() + more > state.memory_limit + (thread_heap.emergency != 0 ? kEmergencyMemory : 0); }

bool has_room_for_large() noexcept { return resident_memory() + kBlockSize <= state.memory_limit + kEmergencyMemory / 2; }

}  // namespace freehold::heap
