// Settings embedded in the program by the compiler (RuntimeHostConfigurationOption and the project's properties), for layers that know no runtime.
#pragma once

#include <cstddef>
#include <cstdint>

namespace freehold::runtime {

// The value of a public configuration key such as System.Heap.Statistics, as text; false when it is not set or does not fit. Any thread.
bool public_config(const char* key, char* value, size_t capacity) noexcept;

// The limit that the .NET settings demand (DOTNET_GCHeapHardLimit, System.GC.HeapHardLimit, …Percent), or that GC.RefreshMemoryLimit gave; 0 = none.
uint64_t configured_heap_limit() noexcept;

}  // namespace freehold::runtime
