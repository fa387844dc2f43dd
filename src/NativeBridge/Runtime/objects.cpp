#include "objects.h"

#include <errno.h>
#include <string.h>

#include "raw_memory.h"
#include "reports.h"
#include "services.h"

namespace freehold::bridge::objects {

namespace {

constexpr size_t kLargestAlignment = 64 * 1024;

uint32_t take_id(Ids& ids) noexcept {
  if (uint32_t group = current_group(); group != 0) {
    Ids::OfGroup& own = ids.groups[group];
    if (own.count == 0) own.count = static_cast<uint32_t>(table.take(own.ids, kMostIdsOfGroup));
    if (own.count != 0) return own.ids[--own.count];
  }
  if (ids.count == 0) ids.count = static_cast<uint32_t>(table.take(ids.ids, kMostIds));
  return ids.count == 0 ? 0 : ids.ids[--ids.count];
}

void free_id(Ids& ids, uint32_t id) noexcept {
  HandleTable::set_freed(id);
  ids.freed[ids.freed_count++] = id;
  if (ids.freed_count == kMostIds) {
    table.give_back(ids.freed, kMostIds);
    ids.freed_count = 0;
  }
}

}  // namespace

void* allocate(Ids& ids, size_t size, size_t alignment, bool zeroed) noexcept {
  if (size == 0) size = 1;
  uint32_t id = size > kLargestObject || alignment > kLargestAlignment ? 0 : take_id(ids);
  if (id == 0) return raw_memory::allocate(size, alignment, zeroed);
  void* start = service->alloc(id, size, &alignment, zeroed ? 1 : 0);
  if (start == nullptr) {
    if (ids.count < kMostIds) {
      ids.ids[ids.count++] = id;
    } else {
      table.give_back_unused(&id, 1);
    }
    errno = ENOMEM;
    return nullptr;
  }
  // The handle looks as aligned as the object is.
  uint32_t origin = HandleTable::origin(id, alignment < kLargestAlignment ? alignment : kLargestAlignment);
  table.begin(id, size);
  HandleTable::set(id, reinterpret_cast<uintptr_t>(start), origin);
  return reinterpret_cast<void*>(HandleTable::handle(id, origin));
}

bool contains(void* address) noexcept {
  void* start;
  service->find(address, &start);
  return start != nullptr;
}

void* handle_at(void* pointer) noexcept {
  void* start;
  uint32_t id = service->find(pointer, &start);
  if (id == 0) return pointer;
  uint64_t entry = HandleTable::load(id);
  if (!HandleTable::is_in_use(entry)) return pointer;
  return reinterpret_cast<void*>(HandleTable::handle(id, 0) + (reinterpret_cast<uintptr_t>(pointer) - entry));
}

// The origin is not kept: it is one of these, and only one of them leads to the start of the object. The first three are those of the defragmenter.
uintptr_t start_of(uint64_t handle) noexcept {
  uint32_t id = HandleTable::id_of(handle);
  uint64_t entry = HandleTable::load(id);
  for (size_t alignment : {64, 16, 65536, 32, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768}) {
    uintptr_t address = entry + HandleTable::origin(id, alignment);
    void* start;
    if (service->find(reinterpret_cast<void*>(address), &start) == id && reinterpret_cast<uintptr_t>(start) == address) return address;
  }
  return HandleTable::translate(handle);
}

void free(Ids& ids, void* pointer, const void* caller) noexcept {
  if (pointer == nullptr) return;
  uint64_t value = reinterpret_cast<uint64_t>(pointer);
  if ((value & kHandleBit) == 0) {
    if (!contains(pointer)) return raw_memory::free(pointer);
    void* handle = handle_at(pointer);
    if (handle == pointer) reports::end_by_call("free of memory that is already free", value, caller);
    value = reinterpret_cast<uint64_t>(handle);
  }
  uint32_t id = HandleTable::id_of(value);
  uint64_t entry = HandleTable::load(id);
  if (!HandleTable::is_in_use(entry)) reports::end_by_call(table.was_given_out(id) ? "double free" : "free of a pointer that is no object", value, caller);
  if (service->free(id, reinterpret_cast<void*>(entry + HandleTable::offset_of(value))) == 0)
    // At the start of an object only another thread can have been faster.
    reports::end_by_call(HandleTable::offset_of(value) == 0 ? "double free" : "free of a pointer into an object", value, caller);
  free_id(ids, id);
}

void expect_start(const void* handle, const Mistakes& mistakes, const void* caller) noexcept {
  auto value = reinterpret_cast<uint64_t>(handle);
  if (!HandleTable::is_live(value)) reports::end_by_call(mistakes.of_freed, value, caller);
  auto* address = reinterpret_cast<void*>(HandleTable::translate(value));
  void* start;
  if (service->find(address, &start) != HandleTable::id_of(value) || start != address) reports::end_by_call(mistakes.of_inside, value, caller);
}

size_t usable_size(void* pointer) noexcept {
  auto* address = reinterpret_cast<void*>(HandleTable::translate(reinterpret_cast<uint64_t>(pointer)));
  size_t size = service->usable_size(address);
  return size != 0 ? size : raw_memory::usable_size(address);
}

void* reallocate(Ids& ids, void* pointer, size_t size, const void* caller) noexcept {
  if (pointer == nullptr) return allocate(ids, size, 16, false);
  if ((reinterpret_cast<uint64_t>(pointer) & kHandleBit) == 0) {
    if (!contains(pointer)) return raw_memory::reallocate(pointer, size);
    pointer = handle_at(pointer);
  }
  auto value = reinterpret_cast<uint64_t>(pointer);
  expect_start(pointer, kInRealloc, caller);
  uint32_t id = HandleTable::id_of(value);
  auto* start = reinterpret_cast<void*>(HandleTable::translate(value));
  if (size <= kLargestObject && service->realloc(id, start, size) != nullptr) {
    table.change_size(id, size);
    return pointer;
  }
  size_t old = usable_size(pointer);
  void* moved = allocate(ids, size, 16, false);
  if (moved == nullptr) return nullptr;
  // A new handle, never the old one at another place: a compiler that has compared the two as equal may use the old one's address.
  memcpy(reinterpret_cast<void*>(HandleTable::translate(reinterpret_cast<uint64_t>(moved))), start, size < old ? size : old);
  free(ids, pointer, caller);
  return moved;
}

void empty(Ids& ids) noexcept {
  table.give_back(ids.freed, ids.freed_count);
  ids.freed_count = 0;
  // Ids that were taken and never used.
  table.give_back_unused(ids.ids, ids.count);
  ids.count = 0;
  for (Ids::OfGroup& own : ids.groups) {
    table.give_back_unused(own.ids, own.count);
    own.count = 0;
  }
}

}  // namespace freehold::bridge::objects
