// Where a type's finalizer is. After the MethodTable and its vtable follow the interfaces (8 bytes each), then optional fields in this order:
//
//   field         present if                size
//   TypeManager   always                    4, relative to itself (8, absolute, for types made at run time)
//   WritableData  always                    same
//   DispatchMap   flags & 0x40000           same
//   Finalizer     flags & 0x100000          same
#pragma once

#include <cstdint>

#include "core/object.h"

namespace freehold::runtime {

// The code address of the finalizer, null when the type has none.
inline void* finalizer_of(const core::MethodTable* type) noexcept {
  constexpr uint32_t kHasDispatchMap = 0x40000;
  if (!type->has_finalizer()) return nullptr;
  bool absolute = (type->flags & core::MethodTable::kIsDynamic) != 0;
  size_t fields = (type->flags & kHasDispatchMap) != 0 ? 3 : 2;
  const uint8_t* field = reinterpret_cast<const uint8_t*>(type + 1) + (size_t{type->vtable_slots} + type->interfaces) * sizeof(void*);
  field += fields * (absolute ? sizeof(void*) : sizeof(int32_t));
  if (absolute) return *reinterpret_cast<void* const*>(field);
  return const_cast<uint8_t*>(field) + *reinterpret_cast<const int32_t*>(field);
}

}  // namespace freehold::runtime
