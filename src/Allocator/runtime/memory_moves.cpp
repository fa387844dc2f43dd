#include "runtime/memory_moves.h"

#include <cpuid.h>

namespace freehold::runtime {

void configure_memory_moves() noexcept {
  constexpr unsigned kEnhancedStrings = 1u << 9;  // CPUID leaf 7, ebx
  unsigned eax, ebx, ecx, edx;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0) freehold_fast_strings = (ebx & kEnhancedStrings) != 0 ? 1 : 0;
}

}  // namespace freehold::runtime
