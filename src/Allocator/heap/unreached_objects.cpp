#include "heap/unreached_objects.h"

#include "heap/cards.h"
#include "heap/dead_locks.h"
#include "heap/deletion.h"
#include "heap/forwarding.h"
#include "heap/scope_notes.h"
#include "heap/shading.h"
#include "heap/thread_heap.h"

namespace freehold::heap {

using core::Object;

bool delete_unreached(Object* object, bool has_names) noexcept {
  uint32_t sync = *object->sync_word();
  thread_heap.has_no_part_in_deletion = !has_names;
  DeleteResult deleted = delete_keeping_lock(object);
  thread_heap.has_no_part_in_deletion = false;
  if (!has_deleted(deleted)) return false;
  if (core::has_lock(sync)) note_dead_lock(sync & core::kSyncHashOrIndex);
  return true;
}

// As the write barrier would store it: a current name, a scope of another thread may have made the object, it may be young, and a marking beside the threads may have read the array before.
void list_finalizable(uint64_t array, uint64_t index, const Object* object) noexcept {
  if (array == 0) return;
  auto* target = reinterpret_cast<Object*>(current_address(array));
  constexpr size_t kElements = 2;  // words: type, length
  if (index >= target->length) return;
  uint64_t* element = reinterpret_cast<uint64_t*>(target) + kElements + index;
  if (is_noting_stores()) note_scope_pages(reinterpret_cast<uintptr_t>(element), sizeof *element);
  if (is_marking_cards()) mark_cards(reinterpret_cast<const uint8_t*>(element), sizeof *element);
  *element = reinterpret_cast<uint64_t>(object);
  if (is_marking()) shade(reinterpret_cast<uintptr_t>(object));
}

}  // namespace freehold::heap
