// Small files of /proc and /sys, and standard error. Signal-safe; errno stays, none allocates.
#pragma once

#include <cstddef>

namespace freehold::os {

// Cut off at the capacity, with a zero behind it. The length, or negative.
long read_file(const char* path, char* text, size_t capacity) noexcept;
// How many mappings the kernel allows a process (vm.max_map_count).
size_t maximal_mappings() noexcept;
void write_error(const char* text) noexcept;

}  // namespace freehold::os
