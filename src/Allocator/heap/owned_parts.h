// Which objects own parts: those whose class overrides Object.FreeholdCollectParts, which the rewriter adds (pass OwnedParts). Deletion asks the
// vtable, since nothing else of a type can be marked from IL.
#pragma once

#include "core/object.h"

// The method of System.Object, which names no parts: exported by the rewritten CoreLib.
extern "C" void FreeholdCollectNoParts();

namespace freehold::heap {

// 0 for a type that owns nothing, in a form that goes into one test with others. It may be asked of arrays too; the answer means nothing there.
inline uintptr_t differs_from_no_owner(const core::MethodTable* type) noexcept {
  return *reinterpret_cast<const uintptr_t*>(type + 1) ^ reinterpret_cast<uintptr_t>(&FreeholdCollectNoParts);
}

// The rewriter makes it the first virtual method, so that its slot is the first one behind the MethodTable. If a compiler laid vtables out otherwise, every
// object would look like an owner: slow, and right, for who asks such an object for its parts is told none. Not for arrays, which own nothing. Any thread.
inline bool owns_parts(const core::MethodTable* type) noexcept { return differs_from_no_owner(type) != 0; }

}  // namespace freehold::heap
