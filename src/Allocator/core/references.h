// Which words of an object are references: the GCDesc before its MethodTable (runtime-facts, part 2).
//
//   MT-8   i64 n
//   n > 0  n series below, the highest at MT-24: { i64 size - object size, i64 offset }
//   n < 0  an array of structures: i64 offset at MT-16; |n| items { u32 references, u32 bytes to skip } from MT-24 downwards, repeated to the end
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/object.h"

namespace freehold::core {

// Calls function(uint64_t* slot) for those in [begin, end), a part of the object; both are multiples of 8 bytes from its start. `size` is the object's,
// header included. Does not touch the object itself: it may be gone.
template <typename Function>
inline void for_each_reference_between(const Object* object, const MethodTable* type, size_t size, uint64_t* begin, uint64_t* end, Function function) noexcept {
  if (!type->has_pointers()) return;
  const auto* description = reinterpret_cast<const int64_t*>(type);
  auto* base = reinterpret_cast<uint8_t*>(const_cast<Object*>(object));
  int64_t series = description[-1];
  if (series > 0) {
    for (int64_t i = 0; i < series; i++) {
      int64_t extent = description[-3 - 2 * i] + static_cast<int64_t>(size), offset = description[-2 - 2 * i];
      auto* slot = reinterpret_cast<uint64_t*>(base + offset);
      auto* last = reinterpret_cast<uint64_t*>(base + offset + extent);
      if (slot < begin) slot = begin;
      if (last > end) last = end;
      for (; slot < last; slot++) function(slot);
    }
    return;
  }
  // From the structure that `begin` lies in.
  uint8_t* cursor = base + description[-2];
  uint8_t* last = base + size - kHeaderSize;
  if (reinterpret_cast<uint8_t*>(begin) > cursor)
    cursor += static_cast<size_t>(reinterpret_cast<uint8_t*>(begin) - cursor) / type->component_size() * type->component_size();
  while (cursor < last && cursor < reinterpret_cast<uint8_t*>(end)) {
    for (int64_t i = 0; i < -series; i++) {
      const auto* item = reinterpret_cast<const uint32_t*>(description - 3 - i);
      for (uint32_t n = 0; n < item[0]; n++, cursor += sizeof(uint64_t)) {
        auto* slot = reinterpret_cast<uint64_t*>(cursor);
        if (slot >= begin && slot < end) function(slot);
      }
      cursor += item[1];
    }
  }
}

// The same for all of an object.
template <typename Function>
inline void for_each_reference(const Object* object, const MethodTable* type, size_t size, Function function) noexcept {
  for_each_reference_between(object, type, size, nullptr, reinterpret_cast<uint64_t*>(UINTPTR_MAX), function);
}

}  // namespace freehold::core
