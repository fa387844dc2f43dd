#include "heap/accounting.h"

#include <algorithm>
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
  // What was here when an allocation was refused last. The other heaps may have made the limit less than that, and an emergency begins from there.
  std::atomic<size_t> refused_at{0};
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
  uint64_t held = (load(block_counters.live) + load(block_counters.starting) + load(block_counters.prefaulted) + load(block_counters.pooled) +
                   load(block_counters.pinned)) *
                      kBlockSize +
                  load(block_counters.huge_bytes),
           released = load(block_counters.released_pages) * kPageSize;
  // Threads count on meanwhile, and a block goes before its pages do: less than nothing would be more than any limit.
  return held > released ? held - released : 0;
}

size_t memory_footprint() noexcept {
  size_t spare = (block_counters.pooled.load(std::memory_order_relaxed) + block_counters.prefaulted.load(std::memory_order_relaxed)) * kBlockSize +
                 block_counters.huge_bytes_to_go.load(std::memory_order_relaxed),
         resident = resident_memory();
  return resident > spare ? resident - spare : 0;
}

size_t compactable_footprint() noexcept {
  size_t footprint = memory_footprint(), guarded = block_counters.guarded_pages.load(std::memory_order_relaxed) * kPageSize;
  return footprint > guarded ? footprint - guarded : 0;
}

// Each live or pooled block at most one mapping of its own and one of reserved space behind it, each moved one its empty mapping.
size_t mappings() noexcept {
  constexpr size_t kTables = 64;
  return 2 * (block_counters.live.load(std::memory_order_relaxed) + block_counters.pooled.load(std::memory_order_relaxed) +
              block_counters.prefaulted.load(std::memory_order_relaxed) + block_counters.pinned.load(std::memory_order_relaxed)) +
         block_counters.moved.load(std::memory_order_relaxed) + block_counters.forwarded.load(std::memory_order_relaxed) +
         2 * block_counters.huge_objects.load(std::memory_order_relaxed) + block_counters.mapping_splits.load(std::memory_order_relaxed) + kTables;
}

constinit os::BudgetOwner budget_owner = {"managed", []() noexcept -> uint64_t { return resident_memory(); }, [](os::GiveBack) noexcept {},
                                          []() noexcept { return true; }};

void set_limit(size_t bytes) noexcept { state.memory_limit = bytes; }
size_t own_limit() noexcept { return state.memory_limit; }
size_t limit() noexcept { return std::min<uint64_t>(state.memory_limit, os::room_in_budget(budget_owner, false)); }

bool is_short_of_budget(size_t more) noexcept {
  uint64_t room = os::room_in_budget(budget_owner, false);
  return room < state.memory_limit && resident_memory() + more > room;
}

namespace {

size_t limit_of_emergencies() noexcept { return std::max(limit(), state.refused_at.load(std::memory_order_relaxed)); }

}  // namespace

bool has_room_to_spare(size_t more) noexcept { return resident_memory() + more <= limit(); }

bool is_over_limit(size_t more) noexcept {
  size_t resident = resident_memory();
  if (thread_heap.emergency != 0) return resident + more > limit_of_emergencies() + kEmergencyMemory;
  if (resident + more <= limit()) return false;
  state.refused_at.store(std::min(resident, state.memory_limit), std::memory_order_relaxed);
  return true;
}

bool has_room_for_large() noexcept { return resident_memory() + kBlockSize <= limit_of_emergencies() + kEmergencyMemory / 2; }

}  // namespace freehold::heap
