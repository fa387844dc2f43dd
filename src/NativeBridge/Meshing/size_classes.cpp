#include "size_classes.h"

namespace freehold::mesh {
namespace {

constexpr SizeClass make(uint32_t size) noexcept {
  SizeClass c = {size, 1, 0, 0, ((uint64_t{1} << 48) + size - 1) / size};
  if (size <= kMaximalMeshable) {
    // The fewest pages with at least eight slots and at most an eighth lost: a span with few slots meshes with more others.
    while (c.pages * os::kPageSize / size < 8 || c.pages * os::kPageSize % size * 8 > c.pages * os::kPageSize) c.pages++;
  } else {
    uint32_t slots = 65'536 / size > 4 ? 65'536 / size : 4;
    c.pages = static_cast<uint32_t>((slots * size + os::kPageSize - 1) / os::kPageSize);
  }
  c.slots = static_cast<uint32_t>(c.pages * os::kPageSize / size);
  uint32_t capacity = 65'536 / size;
  if (capacity < 2 * c.slots) capacity = 2 * c.slots;
  c.capacity = capacity > 512 ? 512 : capacity;
  return c;
}

constexpr uint32_t size_of(uint32_t size_class) noexcept {
  if (size_class <= 8) return 16 * size_class;
  uint32_t step = size_class - 9;
  return (128u << step / 4) / 4 * (5 + step % 4);
}

struct Table {
  SizeClass classes[kClasses];
  constexpr Table() noexcept : classes() {
    for (uint32_t i = 1; i < kClasses; i++) classes[i] = make(size_of(i));
  }
};
constexpr Table kTable;
static_assert(kTable.classes[kClasses - 1].size == kMaximalSmall);
static_assert(kTable.classes[1].slots <= kMaximalSlots);

#define C(i) kTable.classes[i]
#define C4(i) C(i), C(i + 1), C(i + 2), C(i + 3)

}  // namespace

const SizeClass kSizeClasses[kClasses] = {C4(0), C4(4), C4(8), C4(12), C4(16), C4(20), C4(24), C4(28), C4(32), C4(36), C(40)};

#undef C4
#undef C

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
