// System.GC and GCSettings for a heap that hardly collects by itself: every answer is true of this heap, and what a program asks for is remembered
// and answered as the documentation of System.GC says. What counts as a collection is in runtime/collections.h.
#include <algorithm>
#include <atomic>

#include "Platform/lock.h"
#include "core/knobs.h"
#include "core/module_state.h"
#include "heap/accounting.h"
#include "heap/finalization_queue.h"
#include "heap/heap.h"
#include "runtime/collections.h"
#include "runtime/gc_heap.h"
#include "runtime/runtime_config.h"
#include "runtime/runtime_imports.h"
#include "runtime/suspension.h"

namespace freehold::runtime {

namespace {

enum LatencyMode : int32_t { kBatch = 0, kInteractive = 1, kLowLatency = 2, kSustainedLowLatency = 3, kNoGcRegion = 4 };

struct State {
  // Guards the words below that belong together. Never held across a call out of this file.
  os::Lock lock;
  std::atomic<int32_t> mode{kInteractive};
  std::atomic<int32_t> loh_compaction{1};  // 1 = default, 2 = compact once
  int32_t mode_before_region = kInteractive;
  uint64_t region_start = 0;  // bytes allocated when the region began
  uint64_t region_total = 0;  // bytes it may allocate
  uint64_t callback_threshold = 0;
  std::atomic<NoGcRegionCallback*> callback{nullptr};       // registered, not yet due
  std::atomic<FinalizerWorkItem*> finalizer_work{nullptr};  // for the finalizer thread
};
constinit State state;
FREEHOLD_MODULE_STATE(state);

void give_to_finalizer_thread(NoGcRegionCallback* item, bool abandoned) noexcept {
  item->scheduled = true;
  item->abandoned = abandoned;
  FinalizerWorkItem* head = state.finalizer_work.load(std::memory_order_relaxed);
  do {
    item->next = head;
  } while (!state.finalizer_work.compare_exchange_weak(head, item, std::memory_order_release, std::memory_order_relaxed));
  request_finalizer_thread(true);
}

}  // namespace

uint64_t available_memory() noexcept { return std::min<uint64_t>(heap::heap_limit(), physical_memory_limit(nullptr)); }

uint32_t memory_load() noexcept {
  bool in_group = false;
  uint64_t memory = physical_memory_limit(&in_group), available = 0;
  uint32_t load = 0;
  memory_status(in_group ? memory : 0, &load, &available, nullptr);
  return load;
}

// The figures are those of now, whenever the last collection was. A collection that is asked for may move what lives.
void fill_memory_info(const MemoryInfo& info, int32_t kind) noexcept {
  LastCollection last = last_collection(static_cast<CollectionKind>(kind));
  uint64_t machine = physical_memory_limit(nullptr);
  uint64_t in_use = heap::total_bytes_in_use(), resident = heap::resident_bytes();
  *info.high_load_threshold = machine / 10 * 9;
  *info.total_available = available_memory();
  *info.memory_load = machine / 100 * memory_load();
  // What is fragmented is part of the size: callers subtract the one from the other.
  *info.heap_size = std::max(resident, in_use);
  *info.fragmentation = *info.heap_size - in_use;
  *info.committed = resident;
  *info.promoted = 0;
  *info.pinned_objects = 0;
  *info.pending_finalizers = heap::finalizable_count();
  *info.index = last.index;
  *info.generation = last.generation;
  *info.pause_percentage = pause_share(10'000);
  *info.compacting = last.index != 0;
  *info.concurrent = false;
  constexpr int kGenerations = 5, kFigures = 4;  // size and fragmentation, before and after
  for (int i = 0; i < kGenerations * kFigures; i++) info.generations[i] = 0;
  info.generations[0] = info.generations[2] = *info.heap_size;
  info.generations[1] = info.generations[3] = *info.fragmentation;
  info.pauses[0] = last.index == 0 ? 0 : static_cast<uint64_t>(last_pause());
  info.pauses[1] = 0;
}

int32_t latency_mode() noexcept { return state.mode.load(std::memory_order_relaxed); }

// 0 = done, 1 = refused: a no-GC region is in progress.
int32_t set_latency_mode(int32_t mode) noexcept {
  os::LockGuard guard(state.lock);
  if (state.mode.load(std::memory_order_relaxed) == kNoGcRegion) return 1;
  if (mode >= kBatch && mode <= kSustainedLowLatency) state.mode.store(mode, std::memory_order_relaxed);
  return 0;
}

int32_t loh_compaction_mode() noexcept { return state.loh_compaction.load(std::memory_order_relaxed); }
void set_loh_compaction_mode(int32_t mode) noexcept { state.loh_compaction.store(mode, std::memory_order_relaxed); }

// 0 = started, 1 = not enough memory, 2 = more than the heap may ever have, 3 = one is in progress.
int32_t start_no_gc_region(uint64_t total) noexcept {
  uint64_t allocated = heap::total_allocated_bytes(), in_use = heap::total_bytes_in_use(), available = available_memory();
  os::LockGuard guard(state.lock);
  if (state.mode.load(std::memory_order_relaxed) == kNoGcRegion) return 3;
  if (total == 0 || total > available) return 2;
  if (in_use + total > available) return 1;
  state.mode_before_region = state.mode.load(std::memory_order_relaxed);
  state.mode.store(kNoGcRegion, std::memory_order_relaxed);
  state.region_start = allocated;
  state.region_total = total;
  return 0;
}

// 0 = ended, 1 = none is in progress. No collection can have interrupted it.
int32_t end_no_gc_region() noexcept {
  NoGcRegionCallback* left;
  bool reached;
  uint64_t allocated = heap::total_allocated_bytes();
  {
    os::LockGuard guard(state.lock);
    if (state.mode.load(std::memory_order_relaxed) != kNoGcRegion) return 1;
    state.mode.store(state.mode_before_region, std::memory_order_relaxed);
    left = state.callback.exchange(nullptr, std::memory_order_acq_rel);
    reached = allocated - state.region_start >= state.callback_threshold;
  }
  if (left != nullptr) give_to_finalizer_thread(left, !reached);
  return 0;
}

// 0 = registered, 1 = no region is in progress, 2 = the threshold is beyond it, 3 = one is registered.
int32_t enable_no_gc_callback(NoGcRegionCallback* item, uint64_t threshold) noexcept {
  os::LockGuard guard(state.lock);
  if (state.mode.load(std::memory_order_relaxed) != kNoGcRegion) return 1;
  if (state.callback.load(std::memory_order_relaxed) != nullptr) return 3;
  if (threshold > state.region_total) return 2;
  state.callback_threshold = threshold;
  state.callback.store(item, std::memory_order_release);
  return 0;
}

// The threshold is looked at when a thread's chunk is used up (2 MB at most), and when the region ends.
bool allocations_are_noted() noexcept { return state.callback.load(std::memory_order_acquire) != nullptr; }

void note_allocation() noexcept {
  if (!allocations_are_noted()) [[likely]]
    return;
  if (heap::total_allocated_bytes() - state.region_start < state.callback_threshold) return;
  NoGcRegionCallback* due = state.callback.exchange(nullptr, std::memory_order_acq_rel);
  if (due != nullptr) give_to_finalizer_thread(due, false);
}

FinalizerWorkItem* take_finalizer_work() noexcept { return state.finalizer_work.exchange(nullptr, std::memory_order_acquire); }

// GC.RefreshMemoryLimit. 0 = done, 1 = below what is in use, 2 = invalid.
int32_t refresh_memory_limit() noexcept {
  uint64_t limit = heap_limit();
  if (limit < heap::total_bytes_in_use()) return 1;
  heap::set_limit(limit);
  if (uint64_t memory = memory_limit(); memory != 0) os::set_memory_limit(memory, core::knobs.memory_limit == 0);
  return 0;
}

}  // namespace freehold::runtime
