// The figures of the heap, in the order that System.HeapStatistics reads them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace freehold::diag {

enum Figure : int32_t {
  kAllocatedBytes,
  kDeletedBytes,
  kReleasedBytes,
  kResidentBytes,
  kLivePages,
  kDeadPages,
  kFreshBlocks,
  kRecycledBlocks,
  kPooledBlocks,
  kLiveBlocks,
  kLargeObjects,
  kDanglingFaults,
  kDoubleDeletes,
  kMappings,
  kRecounts,
  kAddressSpaceUsed,
  kUserfaultfd,
  kDeletedObjects,
  kPinnedBlocks,
  kPinStops,
  kLongestPinStop,
  kMembarrier,
  kRepairedFaults,
  kRepairedSlots,
  kRepairedFields,
  kRepairedOperands,
  kRepairsWithoutField,
  kCompactionWaits,
  kCompactionRounds,
  kCompactedBlocks,
  kMovedObjects,
  kMovedBytes,
  kPatchedFields,
  kLongestEvacuation,
  kForwardingBytes,
  kSweeps,
  kSweptFields,
  kSweptRoots,
  kLongestSweepStop,
  kFrameWaits,
  kAddressSpaceReused,
  kReclaimedObjects,
  kReclaimedBytes,
  kLongestReclaimStop,
  kStops,
  kLongestTimeToStop,
  kTimeToStopPlace,
  kTimeToStopThread,
  kTimeToStopThreadEnd,
  kNativeUsedBytes,
  kNativeCachedBytes,
  kNativeLargeBytes,
  kNativeSavedBytes,
  kNativeMeshes,
  kNativePasses,
  kNativeMappings,
  kNativeMappingBudget,
  kFigureCount
};
static_assert(kFigureCount == 57, "System.HeapStatistics.Count");

// Fills values[0, count). Any thread.
void collect_statistics(uint64_t* values, int32_t count) noexcept;

// The table that FREEHOLD_STATS=1 prints at exit, as text.
void format_statistics(char* text, size_t capacity) noexcept;

}  // namespace freehold::diag
