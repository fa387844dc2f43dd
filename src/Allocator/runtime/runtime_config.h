// Settings embedded in the program by the compiler (RuntimeHostConfigurationOption and the project's properties), for layers that know no runtime.
#pragma once

#include <cstddef>
#include <cstdint>

namespace freehold::runtime {

// The value of a public configuration key such as System.Heap.Statistics, as text; false when it is not set or does not fit. Any thread.
bool public_config(const char* key, char* value, size_t capacity) noexcept;

// What the heap may hold: FREEHOLD_HEAP_LIMIT, else what the .NET settings demand (DOTNET_GCHeapHardLimit, System.GC.HeapHardLimit, …Percent) or
// GC.RefreshMemoryLimit gave, else three quarters of what the process's control group may have (at least 20 MB), as for the stock collector, else 95% of the
// machine's memory.
uint64_t heap_limit() noexcept;
// Of the process: FREEHOLD_MEMORY_LIMIT, or the control group's; 0: none.
uint64_t memory_limit() noexcept;

}  // namespace freehold::runtime
