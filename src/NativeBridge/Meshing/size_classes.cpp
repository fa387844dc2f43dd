#include "size_classes.h"

namespace freehold::mesh {

uint32_t class_of_aligned(size_t size, size_t alignment) noexcept {
  if (size > kMaximalSmall || alignment > os::kPageSize) return 0;
  if (size < alignment) size = alignment;
  for (uint32_t i = class_of(size); i < kClasses; i++) {
    // Kernel I/O that bypasses caches (O_DIRECT) writes to frames, whatever the page tables say: its buffers, aligned so, never mesh.
    if (kSizeClasses[i].size % alignment == 0 && (alignment < 512 || !is_meshable(i))) return i;
  }
  return 0;
}

}  // namespace freehold::mesh
