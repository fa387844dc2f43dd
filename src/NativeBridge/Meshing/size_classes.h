// Sizes that objects are rounded up to, and the spans that hold them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "os.h"

namespace freehold::mesh {

inline constexpr size_t kAlignment = 16;
inline constexpr size_t kMaximalMeshable = 3584;  // larger objects fill pages of their own: nothing to mesh
inline constexpr size_t kMaximalSmall = 32'768;   // what is larger has pages of its own: LargeObjects
inline constexpr uint32_t kMaximalSlots = 256;    // of a span

struct SizeClass {
  uint32_t size;        // of a slot, in bytes
  uint32_t pages;       // of a span
  uint32_t slots;       // of a span
  uint32_t capacity;    // of a thread's shuffle vector: at least the slots of two spans
  uint64_t reciprocal;  // 2^48 / size, rounded up: offset * reciprocal >> 48 is the slot
};

// Class 0 is none. 16-byte steps up to 128, then four classes for each doubling.
inline constexpr uint32_t kClasses = 41;

namespace internal {

inline constexpr SizeClass make(uint32_t size) noexcept {
  SizeClass c = {size, 1, 0, 0, ((uint64_t{1} << 48) + size - 1) / size};
  if (size <= kMaximalMeshable) {
    // The fewest pages with at least eight slots and at most an eighth lost: a span with few slots meshes with more others.
    while (c.pages * os::kPageSize / size < 8 || c.pages * os::kPageSize % size * 8 > c.pages * os::kPageSize) c.pages++;
  } else {
    uint32_t slots = 131'072 / size > 4 ? 131'072 / size : 4;
    if (slots > 16) slots = 16;
    c.pages = static_cast<uint32_t>((slots * size + os::kPageSize - 1) / os::kPageSize);
  }
  c.slots = static_cast<uint32_t>(c.pages * os::kPageSize / size);
  uint32_t capacity = (size <= kMaximalMeshable ? 65'536 : 131'072) / size;
  if (capacity < 2 * c.slots) capacity = 2 * c.slots;
  c.capacity = capacity > 512 ? 512 : capacity;
  return c;
}

inline constexpr uint32_t size_of(uint32_t size_class) noexcept {
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
inline constexpr Table kTable;

}  // namespace internal

inline constexpr const SizeClass (&kSizeClasses)[kClasses] = internal::kTable.classes;
static_assert(kSizeClasses[kClasses - 1].size == kMaximalSmall);
static_assert(kSizeClasses[1].slots <= kMaximalSlots);

inline constexpr bool is_meshable(uint32_t size_class) noexcept { return kSizeClasses[size_class].size <= kMaximalMeshable; }

// The smallest class that holds `size` bytes, which are at most kMaximalSmall.
inline uint32_t class_of(size_t size) noexcept {
  if (size <= 128) return size == 0 ? 1 : static_cast<uint32_t>((size + 15) / 16);
  uint32_t log = 63 - static_cast<uint32_t>(__builtin_clzll(size - 1));  // 2^log < size <= 2^(log+1)
  return 9 + (log - 7) * 4 + static_cast<uint32_t>((size - 1) >> (log - 2) & 3);
}

// The smallest class whose slots all have the alignment, a power of two up to a page; 0 when there is none.
uint32_t class_of_aligned(size_t size, size_t alignment) noexcept;

}  // namespace freehold::mesh
