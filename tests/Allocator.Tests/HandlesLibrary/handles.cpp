// For handle_statistics_test.cpp: what src/NativeBridge/Runtime exports of its figures.
#include <cstddef>
#include <cstdint>

extern "C" size_t freehold_handles_statistics(uint64_t* values, size_t count) {
  for (size_t i = 0; i < count; i++) values[i] = 100 + i;
  return count;
}
