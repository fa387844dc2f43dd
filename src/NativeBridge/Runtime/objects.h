// Objects behind handles: an id for each, from the table, and memory for it, from the service (services.h). Each thread keeps some ids, so that most calls take no lock.
//
// A thread that calls these functions is inside (threads.h), but for contains(): nobody moves its objects meanwhile.
#pragma once

#include <cstddef>
#include <cstdint>

#include "group_chunks.h"
#include "handle_table.h"

namespace freehold::bridge {

inline constexpr uint32_t kMostIds = 64, kMostIdsOfGroup = 16;

// The ids that a thread keeps. Owner: the thread while it is inside, whoever has stopped the threads otherwise.
struct Ids {
  uint32_t count, freed_count;
  uint32_t ids[kMostIds];
  uint32_t freed[kMostIds];
  // Of groups of a heap profile: what is used together has entries of the table side by side, too.
  struct OfGroup {
    uint32_t count;
    uint32_t ids[kMostIdsOfGroup];
  } groups[kMostGroups + 1];
};

namespace objects {

// A handle; null: no memory. An object that can have none (more than kLargestObject, no id left) is plain memory. `alignment`: a power of two.
void* allocate(Ids& ids, size_t size, size_t alignment, bool zeroed) noexcept;
// Of a handle, or of the address of an object. Reports an object that is already freed, and a pointer into one. `caller`: where the program has called, for the report.
void free(Ids& ids, void* pointer, const void* caller) noexcept;
void* reallocate(Ids& ids, void* pointer, size_t size, const void* caller) noexcept;
size_t usable_size(void* pointer) noexcept;
// What the report says of a call that wants the first byte of a live object, and got another handle.
struct Mistakes {
  const char *of_freed, *of_inside;
};
inline constexpr Mistakes kInRealloc = {"realloc of memory that is free", "realloc of a pointer into an object"};
inline constexpr Mistakes kInUsableSize = {"malloc_usable_size of memory that is free", "malloc_usable_size of a pointer into an object"};
void expect_start(const void* handle, const Mistakes& mistakes, const void* caller) noexcept;
// All that the thread keeps goes back.
void empty(Ids& ids) noexcept;

// The memory is the service's. By any thread.
bool contains(void* address) noexcept;
// From an address inside a live object of the service to the handle that means the same byte; other values as they are.
void* handle_at(void* address) noexcept;
// An address outside of all objects could be the end of one.
inline bool may_be_end(uintptr_t address) noexcept { return contains(reinterpret_cast<void*>(address - 1)); }
// The address of the first byte of a live handle's object.
uintptr_t start_of(uint64_t handle) noexcept;

}  // namespace objects
}  // namespace freehold::bridge
