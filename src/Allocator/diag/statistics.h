// The figures of the heap (diag/figures.inc), and their table as text.
#pragma once

#include <cstddef>
#include <cstdint>

namespace freehold::diag {

// In the order that System.HeapStatistics and System.NativeHeapStatistics read them; all three come from the same table.
enum Figure : int32_t {
#define FREEHOLD_FIGURE(name, unit, description) k##name,
#include "diag/figures.inc"
#undef FREEHOLD_FIGURE
#define FREEHOLD_FIGURE(name, unit, description) kNative##name,
#include "diag/native_figures.inc"
#undef FREEHOLD_FIGURE
  kFigureCount
};

// Fills values[0, count). Any thread.
void collect_statistics(uint64_t* values, int32_t count) noexcept;

// The table that FREEHOLD_STATS=1 prints at exit, as text.
void format_statistics(char* text, size_t capacity) noexcept;

}  // namespace freehold::diag
