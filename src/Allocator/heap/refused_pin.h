// What heap/pins.h answers where there is nothing to pin: an address that nobody may use, and whose use faults.
#pragma once

#include <cstdint>

#include "core/arena.h"

namespace freehold::heap {

// No block is ever taken from the end of a segment.
inline uintptr_t refused_pin() noexcept { return reinterpret_cast<uintptr_t>(core::arena.start) + core::kSegmentSize - core::kPageSize + core::kPageSize / 2; }
// Whether that is near `address`. Signal-safe.
inline bool is_refused_pin(uintptr_t address) noexcept { return address - (refused_pin() & ~(core::kPageSize - 1)) < core::kPageSize; }

}  // namespace freehold::heap
