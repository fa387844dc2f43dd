// The runtime's ways to store a reference, as compiled code calls them.
#pragma once

#include <iterator>
#include <span>

#include "runtime/memory_moves.h"

extern "C" {
void RhpAssignRef(void* location, void* reference);
void RhpCheckedAssignRef(void* location, void* reference);
void* RhpCheckedLockCmpXchg(void* location, void* value, void* comparand);
void* RhpCheckedXchg(void* location, void* value);
void RhpByRefAssignRef();
}

namespace freehold::testing {

inline void assign_by_ref(void* to, void* reference) {
  void** from = &reference;
  asm volatile("sub $128, %%rsp\n\tcall RhpByRefAssignRef@PLT\n\tadd $128, %%rsp" : "+S"(from), "+D"(to) : : "rcx", "rax", "memory", "cc");
}

using Store = void (*)(void* location, void* reference);
inline constexpr Store kStores[] = {
    RhpAssignRef,
    RhpCheckedAssignRef,
    assign_by_ref,
    [](void* location, void* reference) { RhpCheckedXchg(location, reference); },
    [](void* location, void* reference) { RhpCheckedLockCmpXchg(location, reference, *static_cast<void**>(location)); },
    [](void* location, void* reference) { RhBulkMoveWithWriteBarrier(location, &reference, sizeof reference); },
};
inline constexpr std::span<const Store> kBarriers = {kStores, std::size(kStores) - 1};  // without the bulk move

}  // namespace freehold::testing
