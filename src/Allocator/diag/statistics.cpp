#include "diag/statistics.h"

#include <stdio.h>
#include <string.h>

#include "Platform/memory_budget.h"
#include "core/arena.h"
#include "core/fault_counters.h"
#include "core/knobs.h"
#include "core/stop_counters.h"
#include "heap/accounting.h"
#include "heap/addresses.h"
#include "heap/concurrent_reclaim.h"
#include "heap/dedangling.h"
#include "heap/forwarding.h"
#include "heap/guarded_blocks.h"
#include "heap/heap.h"
#include "heap/known_stacks.h"
#include "heap/mappings.h"
#include "heap/outgrown_arrays.h"
#include "heap/pins.h"
#include "heap/promotion.h"
#include "heap/promotion_counters.h"
#include "heap/reachability.h"
#include "heap/scopes.h"
#include "heap/thread_heap.h"
#include "os/kernel.h"
#include "os/meshing.h"
#include "os/userfaultfd.h"

extern "C" const char __executable_start[] __attribute__((weak));

namespace freehold::diag {

void collect_statistics(uint64_t* values, int32_t count) noexcept {
  heap::ThreadTotals totals = heap::thread_totals();
  heap::BlockCounters& blocks = heap::block_counters;
  auto load = [](const std::atomic<uint64_t>& counter) noexcept { return counter.load(std::memory_order_relaxed); };
  uint64_t dead = heap::dead_pages(), released_pages = load(blocks.released_pages);
  uint64_t figures[kFigureCount] = {};
  figures[kAllocatedBytes] = totals.allocated_bytes;
  figures[kDeletedBytes] = totals.deleted_bytes;
  figures[kDeletedObjects] = totals.deleted_objects;
  figures[kLiveBytes] = totals.live_bytes();
  figures[kDoubleDeletes] = totals.double_deletes;
  figures[kReleasedBytes] = heap::released_bytes();
  figures[kResidentBytes] = heap::resident_bytes();
  figures[kLivePages] = load(blocks.live) * core::kPagesPerBlock + load(blocks.huge_bytes) / core::kPageSize - dead;
  figures[kDeadPages] = dead > released_pages ? dead - released_pages : 0;
  figures[kFreshBlocks] = load(blocks.fresh);
  figures[kRecycledBlocks] = load(blocks.recycled);
  figures[kPooledBlocks] = load(blocks.pooled);
  figures[kLiveBlocks] = load(blocks.live) + (load(blocks.huge_bytes) + core::kBlockSize - 1) / core::kBlockSize;
  figures[kLargeObjects] = load(blocks.large_objects);
  figures[kDanglingFaults] = heap::dangling_fault_count();
  figures[kMappings] = heap::mappings();
  figures[kRecounts] = load(blocks.recounts);
  figures[kAddressSpaceUsed] = heap::addresses_used();
  figures[kAddressSpaceReused] = heap::addresses_reused();
  figures[kUsesUserfaultfd] = os::has_userfaultfd() ? 1 : 0;
  figures[kPinnedBlocks] = load(blocks.pinned) + load(blocks.pinned_huge);
  figures[kPinStops] = load(heap::pin_counters.stops);
  figures[kLongestPinStop] = load(heap::pin_counters.longest_stop);
  figures[kUsesMembarrier] = heap::pins_use_membarrier() ? 1 : 0;
  const heap::GuardedCounters& guarded = heap::guarded_counters;
  figures[kGuardedObjects] = load(guarded.taken);
  figures[kGuardedLive] = load(guarded.alive);
  figures[kGuardedHeld] = load(guarded.held);
  figures[kGuardedCaught] = load(guarded.caught);
  const core::FaultCounters& faults = core::fault_counters;
  figures[kRepairedFaults] = load(faults.repairs);
  figures[kRepairedSlots] = load(faults.slots);
  figures[kRepairedFields] = load(faults.parents);
  figures[kRepairedOperands] = load(faults.operand_repairs);
  figures[kRepairsWithoutField] = load(faults.parentless);
  figures[kCompactionWaits] = load(faults.waits);
  const heap::PromotionCounters& promotion = heap::promotion_counters;
  figures[kCompactionRounds] = load(promotion.rounds);
  figures[kCompactedBlocks] = load(promotion.blocks);
  figures[kMovedObjects] = load(promotion.objects);
  figures[kMovedBytes] = load(promotion.bytes);
  figures[kPatchedFields] = load(promotion.patched);
  figures[kLongestEvacuation] = load(promotion.longest_evacuation);
  figures[kFrameWaits] = load(promotion.frame_waits);
  figures[kForwardingBytes] = heap::forwarding_bytes();
  const heap::RemapCounters& remaps = heap::remap_counters;
  figures[kRemaps] = load(remaps.remaps);
  figures[kRemappedFields] = load(remaps.fields);
  figures[kRemappedRoots] = load(remaps.roots);
  figures[kLongestRemapStop] = load(remaps.longest_stop);
  const heap::ReachabilityCounters& marking = heap::reachability_counters;
  figures[kYoungReclaims] = load(marking.young);
  figures[kReclaims] = load(marking.reclaims) + figures[kYoungReclaims];
  figures[kYoungReclaimedBytes] = load(marking.young_bytes);
  figures[kReclaimedObjects] = load(marking.objects);
  figures[kReclaimedBytes] = load(marking.bytes);
  figures[kLongestReclaimStop] = load(marking.longest_stop);
  const heap::OutgrownCounters& outgrown = heap::outgrown_counters;
  figures[kOutgrownArrays] = load(outgrown.arrays);
  figures[kOutgrownBytes] = load(outgrown.bytes);
  figures[kOutgrownStops] = load(outgrown.stops);
  figures[kLongestOutgrownStop] = load(outgrown.longest_stop);
  const heap::ScopeCounters& scopes = heap::scope_counters;
  figures[kScopes] = load(scopes.ended);
  figures[kScopesKept] = load(scopes.kept);
  figures[kScopeObjects] = load(scopes.objects);
  figures[kScopeBytes] = load(scopes.bytes);
  figures[kLongestScopeStop] = load(scopes.longest_stop);
  const heap::ConcurrentReclaimCounters& beside = heap::concurrent_reclaim_counters;
  figures[kLongestReclaimWork] = load(beside.longest_work);
  figures[kMarkedObjects] = load(beside.scanned);
  figures[kYoungMarkedObjects] = load(beside.young_scanned);
  figures[kReclaimTime] = load(beside.time);
  figures[kYoungReclaimTime] = load(beside.young_time);
  const core::StopCounters& stops = core::stop_counters;
  figures[kStops] = load(stops.stops);
  figures[kLongestTimeToStop] = load(stops.longest);
  figures[kTimeToStopPlace] = load(stops.place);
  figures[kTimeToStopThread] = load(stops.name[0]);
  figures[kTimeToStopThreadEnd] = load(stops.name[1]);
  os::BudgetFigures budget = os::budget_figures();
  figures[kMemoryLimit] = os::memory_limit();
  figures[kMemoryHeld] = os::held_by_all();
  figures[kBudgetRounds] = budget.rounds;
  auto step = [](os::GiveBack how) noexcept { return static_cast<size_t>(how); };
  figures[kBudgetSpareBytes] = budget.given[step(os::GiveBack::kSpare)];
  figures[kBudgetCompactedBytes] = budget.given[step(os::GiveBack::kCompact)];
  figures[kBudgetReclaimedBytes] = budget.given[step(os::GiveBack::kReclaim)];
  for (uint64_t time : budget.nanoseconds) figures[kBudgetTime] += time;
  static_assert(kFigureCount - kNativeUsedBytes == os::kMeshFigures);
  if (os::has_meshing_malloc()) freehold_mesh_figures(&figures[kNativeUsedBytes], os::kMeshFigures);
  for (int32_t i = 0; i < count; i++) values[i] = i < kFigureCount ? figures[i] : 0;
}

void format_statistics(char* text, size_t capacity) noexcept {
  uint64_t v[kFigureCount];
  collect_statistics(v, kFigureCount);
  auto mega = [&](Figure figure) noexcept { return static_cast<double>(v[figure]) / (1 << 20); };
  auto count = [&](Figure figure) noexcept { return static_cast<unsigned long long>(v[figure]); };
  auto milliseconds = [&](Figure figure) noexcept { return static_cast<double>(v[figure]) / 1e6; };
  size_t length = 0;
  auto add = [&](const char* format, auto... values) noexcept {
    if (length < capacity) length += static_cast<size_t>(snprintf(text + length, capacity - length, format, values...));
  };
  add("%s", "Freehold heap at exit\n");
  add("  allocated          %14.1f MB\n", mega(kAllocatedBytes));
  add("  deleted            %14.1f MB in %llu objects\n", mega(kDeletedBytes), count(kDeletedObjects));
  add("  released           %14.1f MB given back or recycled\n", mega(kReleasedBytes));
  add("  resident           %14.1f MB\n", mega(kResidentBytes));
  add("  pages              %14llu live, %llu dead and not yet released\n", count(kLivePages), count(kDeadPages));
  add("  blocks of 2 MB     %14llu live, %llu pooled, %llu fresh (%llu prefaulted), %llu recycled\n", count(kLiveBlocks), count(kPooledBlocks),
      count(kFreshBlocks), static_cast<unsigned long long>(heap::block_counters.prefaulted_taken.load(std::memory_order_relaxed)), count(kRecycledBlocks));
  add("  large objects      %14llu\n", count(kLargeObjects));
  if (core::knobs.guards_samples())
    add("  guarded objects    %14llu: %llu live, %llu deleted and remembered; %llu uses and second deletions caught\n", count(kGuardedObjects),
        count(kGuardedLive), count(kGuardedHeld), count(kGuardedCaught));
  if (const heap::KnownStackCounters& stacks = heap::known_stack_counters; stacks.remembered[0].load(std::memory_order_relaxed) != 0) {
    auto of = [](const std::atomic<uint64_t>& counter) noexcept { return static_cast<unsigned long long>(counter.load(std::memory_order_relaxed)); };
    add("  stacks             %14llu of allocations walked and remembered, %llu found again; of deletions %llu and %llu\n", of(stacks.remembered[0]),
        of(stacks.found[0]), of(stacks.remembered[1]), of(stacks.found[1]));
  }
  add("  compaction         %14.1f MB in %llu objects of %llu blocks, %llu rounds; a block could not be written to for %.3f ms at most\n", mega(kMovedBytes),
      count(kMovedObjects), count(kCompactedBlocks), count(kCompactionRounds), milliseconds(kLongestEvacuation));
  const heap::PromotionCounters& promotion = heap::promotion_counters;
  auto spent = [](const std::atomic<uint64_t>& counter) noexcept { return static_cast<double>(counter.load(std::memory_order_relaxed)) / 1e6; };
  add("  compacting took    %14.1f ms of a processor to walk, %.1f ms to copy, %.1f ms to patch\n", spent(promotion.walk_time), spent(promotion.copy_time),
      spent(promotion.patch_time));
  add("  short rounds       %14llu, which walked %llu marked pages; %llu pages of any round had been stored to meanwhile\n",
      static_cast<unsigned long long>(promotion.short_rounds.load(std::memory_order_relaxed)),
      static_cast<unsigned long long>(promotion.cards.load(std::memory_order_relaxed)),
      static_cast<unsigned long long>(promotion.cards_again.load(std::memory_order_relaxed)));
  add("  patched in bulk    %14llu fields\n", count(kPatchedFields));
  add("  faults repaired    %14llu: %llu slots, %llu fields, %llu operands, %llu without a field\n", count(kRepairedFaults), count(kRepairedSlots),
      count(kRepairedFields), count(kRepairedOperands), count(kRepairsWithoutField));
  if (core::knobs.stress.sites)
    add("  places that faulted%14llu\n", static_cast<unsigned long long>(core::fault_counters.sites.load(std::memory_order_relaxed)));
  add("  compaction waits   %14llu stores, %llu allocations\n", count(kCompactionWaits), count(kFrameWaits));
  add("  forwarding tables  %14.1f MB\n", mega(kForwardingBytes));
  add("  remaps             %14llu: %llu fields and %llu roots made current; two stops each, the longest %.3f ms\n", count(kRemaps), count(kRemappedFields),
      count(kRemappedRoots), milliseconds(kLongestRemapStop));
  const heap::ReachabilityCounters& marking = heap::reachability_counters;
  if (uint64_t made = marking.markings.load(std::memory_order_relaxed), abandoned = marking.abandoned.load(std::memory_order_relaxed); made + abandoned != 0) {
    add("  reclaimed          %14.1f MB in %llu objects that no root reached; %llu markings, %llu without memory, the longest stop %.3f ms\n",
        mega(kReclaimedBytes), count(kReclaimedObjects), static_cast<unsigned long long>(made), static_cast<unsigned long long>(abandoned),
        milliseconds(kLongestReclaimStop));
    const heap::ConcurrentReclaimCounters& beside = heap::concurrent_reclaim_counters;
    if (uint64_t cycles = beside.cycles.load(std::memory_order_relaxed); cycles != 0)
      add("  beside the threads %14llu markings, %llu stops, with at most %.3f ms of work\n", static_cast<unsigned long long>(cycles),
          static_cast<unsigned long long>(beside.stops.load(std::memory_order_relaxed)), milliseconds(kLongestReclaimWork));
    add("  marked             %14llu objects in %.1f ms of a processor\n", count(kMarkedObjects), milliseconds(kReclaimTime));
    if (uint64_t cycles = beside.young_cycles.load(std::memory_order_relaxed); cycles != 0)
      add("  of these, young    %14llu markings of %llu objects in %.1f ms, and of fields on %llu pages; %.1f MB reclaimed\n",
          static_cast<unsigned long long>(cycles), count(kYoungMarkedObjects), milliseconds(kYoungReclaimTime),
          static_cast<unsigned long long>(beside.young_cards.load(std::memory_order_relaxed)), mega(kYoungReclaimedBytes));
  }
  add("  dangling faults    %14llu\n", count(kDanglingFaults));
  add("  double deletes     %14llu\n", count(kDoubleDeletes));
  add("  pages recounted    %14llu\n", count(kRecounts));
  add("  kernel mappings    %14llu at most%s\n", count(kMappings), heap::are_mappings_short() ? "; they are short, memory is not recycled any more" : "");
  add("  addresses used     %14.1f MB, and again %.1f MB\n", mega(kAddressSpaceUsed), mega(kAddressSpaceReused));
  add("  dead but pinned    %14llu blocks; %llu stops to look for pins, the longest %.3f ms\n", count(kPinnedBlocks), count(kPinStops),
      milliseconds(kLongestPinStop));
  add("  stops              %14llu; the threads needed %.3f ms at most to stand", count(kStops), milliseconds(kLongestTimeToStop));
  if (v[kTimeToStopPlace] != 0) {
    char name[16];
    memcpy(name, &v[kTimeToStopThread], sizeof name);
    add("; last \"%.15s\", at %#llx of the executable", name, count(kTimeToStopPlace) - reinterpret_cast<uintptr_t>(__executable_start));
  }
  add("%s", "\n");
  if (v[kMemoryLimit] != 0)
    add("  memory limit       %14.1f MB; all heaps hold %.1f MB. Asked to give back %llu times: %.1f MB spare, %.1f MB compacted, %.1f MB reclaimed, in %.1f "
        "ms\n",
        mega(kMemoryLimit), mega(kMemoryHeld), count(kBudgetRounds), mega(kBudgetSpareBytes), mega(kBudgetCompactedBytes), mega(kBudgetReclaimedBytes),
        milliseconds(kBudgetTime));
  add("  protection         %14s\n", v[kUsesUserfaultfd] != 0 ? "userfaultfd" : "mprotect");
  add("  pins are seen by   %14s\n", v[kUsesMembarrier] != 0 ? "membarrier" : "fences");
}

}  // namespace freehold::diag
