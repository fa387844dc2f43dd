// Which objects own parts: those whose class overrides Object.FreeholdCollectParts, which the rewriter adds (pass OwnedParts). Deletion asks the
// vtable, since nothing else of a type can be marked from IL.
#pragma once

#include <cstddef>

#include "core/object.h"

namespace freehold::heap {

// The slot of the method, in bytes from the start of a MethodTable, and what is there in types that own nothing. Both are found at the first question.
// Until then, and without the rewriter, `related` stands for the slot: it is null only in System.Object, which owns nothing.
struct OwnedPartsSlot {
  size_t offset = offsetof(core::MethodTable, related);
  const void* none = nullptr;
};
extern constinit OwnedPartsSlot owned_parts_slot;

// Never false for a type that owns parts; owns_parts() knows better. Not for arrays, which own nothing. Any thread.
inline bool may_own_parts(const core::MethodTable* type) noexcept {
  const auto* place = reinterpret_cast<const char*>(type) + __atomic_load_n(&owned_parts_slot.offset, __ATOMIC_RELAXED);
  return *reinterpret_cast<const void* const*>(place) != __atomic_load_n(&owned_parts_slot.none, __ATOMIC_RELAXED);
}
bool owns_parts(const core::MethodTable* type) noexcept;

}  // namespace freehold::heap
