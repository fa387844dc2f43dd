// What the heap gives back when another heap of the process needs memory, or this one (Platform/memory_budget.h).
#pragma once

#include <cstdint>

namespace freehold::heap {

// After the heap has begun. `may_wait`: whether the calling thread may wait without holding up a stop.
void join_budget(uint64_t limit, bool of_container, bool (*may_wait)() noexcept) noexcept;
// All heaps give back until so many bytes fit. Where others may stop this thread.
void ask_for_room(uint64_t bytes) noexcept;

}  // namespace freehold::heap
