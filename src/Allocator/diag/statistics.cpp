#include "diag/statistics.h"

#include <stdio.h>

#include "core/arena.h"
#include "heap/blocks.h"
#include "heap/heap.h"
#include "heap/pins.h"
#include "heap/thread_heap.h"
#include "platform/os.h"

namespace freehold::diag {

void collect_statistics(uint64_t* values, int32_t count) noexcept {
  heap::ThreadTotals totals = heap::thread_totals();
  heap::BlockCounters& blocks = heap::block_counters;
  auto load = [](const std::atomic<uint64_t>& counter) noexcept { return counter.load(std::memory_order_relaxed); };
  uint64_t figures[kFigureCount] = {};
  figures[kAllocatedBytes] = totals.allocated_bytes;
  figures[kDeletedBytes] = totals.deleted_bytes;
  figures[kDeletedObjects] = totals.deleted_objects;
  figures[kDoubleDeletes] = totals.double_deletes;
  figures[kReleasedBytes] = heap::released_bytes();
  figures[kResidentBytes] = heap::resident_bytes();
  figures[kLivePages] = load(blocks.live) * core::kPagesPerBlock + load(blocks.huge_bytes) / core::kPageSize - load(blocks.dead_pages);
  figures[kDeadPages] = load(blocks.dead_pages) - load(blocks.released_pages);
  figures[kFreshBlocks] = load(blocks.fresh);
  figures[kRecycledBlocks] = load(blocks.recycled);
  figures[kPooledBlocks] = load(blocks.pooled);
  figures[kLiveBlocks] = load(blocks.live) + (load(blocks.huge_bytes) + core::kBlockSize - 1) / core::kBlockSize;
  figures[kLargeObjects] = load(blocks.large_objects);
  figures[kDanglingFaults] = heap::dangling_fault_count();
  figures[kMappings] = heap::mappings();
  figures[kRecounts] = load(blocks.recounts);
  figures[kAddressSpaceUsed] = (heap::lower_frontier() + heap::promoted_frontier() + heap::upper_frontier() - core::arena.block_count() / 2) * core::kBlockSize;
  figures[kUserfaultfd] = os::has_userfaultfd() ? 1 : 0;
  figures[kPinnedBlocks] = load(blocks.pinned) + load(blocks.pinned_huge);
  figures[kPinStops] = load(heap::pin_counters.stops);
  figures[kLongestPinStop] = load(heap::pin_counters.longest_stop);
  figures[kMembarrier] = heap::pins_use_membarrier() ? 1 : 0;
  for (int32_t i = 0; i < count; i++) values[i] = i < kFigureCount ? figures[i] : 0;
}

void format_statistics(char* text, size_t capacity) noexcept {
  uint64_t v[kFigureCount];
  collect_statistics(v, kFigureCount);
  constexpr double kMega = 1 << 20;
  snprintf(text, capacity,
           "Freehold heap at exit\n"
           "  allocated          %14.1f MB\n"
           "  deleted            %14.1f MB in %llu objects\n"
           "  released           %14.1f MB given back or recycled\n"
           "  resident           %14.1f MB\n"
           "  pages              %14llu live, %llu dead and not yet released\n"
           "  blocks of 2 MB     %14llu live, %llu pooled, %llu fresh, %llu recycled\n"
           "  large objects      %14llu\n"
           "  dangling faults    %14llu\n"
           "  double deletes     %14llu\n"
           "  pages recounted    %14llu\n"
           "  kernel mappings    %14llu at most\n"
           "  addresses used     %14.1f MB\n"
           "  dead but pinned    %14llu blocks; %llu stops to look for pins, the longest %.3f ms\n"
           "  protection         %14s\n"
           "  pins are seen by   %14s\n",
           static_cast<double>(v[kAllocatedBytes]) / kMega, static_cast<double>(v[kDeletedBytes]) / kMega, static_cast<unsigned long long>(v[kDeletedObjects]),
           static_cast<double>(v[kReleasedBytes]) / kMega, static_cast<double>(v[kResidentBytes]) / kMega, static_cast<unsigned long long>(v[kLivePages]),
           static_cast<unsigned long long>(v[kDeadPages]), static_cast<unsigned long long>(v[kLiveBlocks]), static_cast<unsigned long long>(v[kPooledBlocks]),
           static_cast<unsigned long long>(v[kFreshBlocks]), static_cast<unsigned long long>(v[kRecycledBlocks]), static_cast<unsigned long long>(v[kLargeObjects]),
           static_cast<unsigned long long>(v[kDanglingFaults]), static_cast<unsigned long long>(v[kDoubleDeletes]), static_cast<unsigned long long>(v[kRecounts]),
           static_cast<unsigned long long>(v[kMappings]), static_cast<double>(v[kAddressSpaceUsed]) / kMega, static_cast<unsigned long long>(v[kPinnedBlocks]), static_cast<unsigned long long>(v[kPinStops]), static_cast<double>(v[kLongestPinStop]) / 1e6,
           v[kUserfaultfd] != 0 ? "userfaultfd" : "mprotect", v[kMembarrier] != 0 ? "membarrier" : "fences");
}

}  // namespace freehold::diag
