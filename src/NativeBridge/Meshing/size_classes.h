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
extern const SizeClass kSizeClasses[kClasses];

inline bool is_meshable(uint32_t size_class) noexcept { return kSizeClasses[size_class].size <= kMaximalMeshable; }

// The smallest class that holds `size` bytes, which are at most kMaximalSmall.
inline uint32_t class_of(size_t size) noexcept {
  if (size <= 128) return size == 0 ? 1 : static_cast<uint32_t>((size + 15) / 16);
  uint32_t log = 63 - static_cast<uint32_t>(__builtin_clzll(size - 1));  // 2^log < size <= 2^(log+1)
  return 9 + (log - 7) * 4 + static_cast<uint32_t>((size - 1) >> (log - 2) & 3);
}

// The smallest class whose slots all have the alignment, a power of two up to a page; 0 when there is none.
uint32_t class_of_aligned(size_t size, size_t alignment) noexcept;

}  // namespace freehold::mesh
