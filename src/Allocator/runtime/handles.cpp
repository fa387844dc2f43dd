// Handles that pin: the runtime's entry points for managed code, wrapped (eng/README.md) so that each block knows how many such handles lead into it.
// Managed code holds the object in a pinned local while it makes a handle (the pass TouchBeforePin), so that it is alive or kept, and where it stays.
#include <cstdint>

#include "heap/pins.h"
#include "runtime/runtime_imports.h"

using freehold::runtime::kPinned;

extern "C" {

void* __real_RhpHandleAlloc(void* object, uint32_t type);
void __real_RhHandleSet(void** handle, void* object);
void __real_RhHandleFree(void** handle);

[[gnu::visibility("default")]] void* __wrap_RhpHandleAlloc(void* object, uint32_t type) {
  void* handle = __real_RhpHandleAlloc(object, type);
  if (type == kPinned && handle != nullptr) freehold::heap::add_handle_pin(object);
  return handle;
}

// A program that sets or frees one handle on two threads at once breaks its handles, in .NET too; here a pin may last too long.
[[gnu::visibility("default")]] void __wrap_RhHandleSet(void** handle, void* object) {
  if (freehold::runtime::handle_type(handle) != kPinned) return __real_RhHandleSet(handle, object);
  freehold::heap::add_handle_pin(object);
  void* before = *handle;
  __real_RhHandleSet(handle, object);
  freehold::heap::remove_handle_pin(before);
}

[[gnu::visibility("default")]] void __wrap_RhHandleFree(void** handle) {
  void* object = freehold::runtime::handle_type(handle) == kPinned ? *handle : nullptr;
  __real_RhHandleFree(handle);
  if (object != nullptr) freehold::heap::remove_handle_pin(object);
}
}
