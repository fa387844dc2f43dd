#include "heap/owned_parts.h"

#include "core/module_state.h"

// The body of Object.FreeholdCollectParts, exported by the rewritten CoreLib. Missing where no rewritten program is linked.
extern "C" [[gnu::weak]] void FreeholdCollectNoParts();

namespace freehold::heap {

using core::MethodTable;

constinit OwnedPartsSlot owned_parts_slot;
FREEHOLD_MODULE_STATE(owned_parts_slot);

namespace {

// The compiler leaves out virtual methods that nobody calls or overrides, so the place of this one differs by program. 0: there is none.
size_t find_slot(const MethodTable* type) noexcept {
  while (type->related != nullptr) type = type->related;
  auto* slots = reinterpret_cast<const void* const*>(type + 1);
  for (size_t i = 0; i < type->vtable_slots; i++)
    if (slots[i] == reinterpret_cast<const void*>(&FreeholdCollectNoParts))
      return reinterpret_cast<const char*>(&slots[i]) - reinterpret_cast<const char*>(type);
  return 0;
}

}  // namespace

bool owns_parts(const MethodTable* type) noexcept {
  const void* none = reinterpret_cast<const void*>(&FreeholdCollectNoParts);
  if (none == nullptr || type->has_component_size()) return false;
  if (__atomic_load_n(&owned_parts_slot.none, __ATOMIC_RELAXED) == nullptr) {
    size_t offset = find_slot(type);
    if (offset == 0) return false;
    // Threads may do this at once, and read one word without the other: all find the same, and a pair that does not match makes them ask here.
    __atomic_store_n(&owned_parts_slot.offset, offset, __ATOMIC_RELAXED);
    __atomic_store_n(&owned_parts_slot.none, none, __ATOMIC_RELAXED);
  }
  const auto* slot = reinterpret_cast<const char*>(type) + __atomic_load_n(&owned_parts_slot.offset, __ATOMIC_RELAXED);
  return *reinterpret_cast<const void* const*>(slot) != none;
}

}  // namespace freehold::heap
