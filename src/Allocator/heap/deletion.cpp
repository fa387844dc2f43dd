#include "heap/deletion.h"

#include <atomic>
#include <utility>

#include "core/arena.h"
#include "core/fault_recovery.h"
#include "core/knobs.h"
#include "core/module_state.h"
#include "core/object.h"
#include "core/stop_request.h"
#include "heap/chunks.h"
#include "heap/classification.h"
#include "heap/guarded_blocks.h"
#include "heap/large.h"
#include "heap/owned_parts.h"
#include "heap/pins.h"
#include "heap/promotion.h"
#include "heap/running_finalizers.h"
#include "heap/thread_heap.h"

namespace freehold::heap {

using core::arena;
using core::MethodTable;

namespace {

struct State {
  std::atomic<uint64_t> dangling_faults{0};
};
constinit State state;
FREEHOLD_MODULE_STATE(state);
// From where a thread meets a deleted object to the exception that it makes next. Debug mode.
[[gnu::tls_model("initial-exec")]] thread_local constinit History met_history = {};

// What is left to be done: all; all but the finalizer; not the parts either; the same of an object that had to wait for its lock; or not
// the entry of the table of locks either.
enum class Deletion : uint8_t { kWhole, kFinalized, kItself, kPostponed, kKeepingLock };

// The part of deletion behind the deleted bit: pages of its own die at once. `type` is needed in debug mode.
[[gnu::noinline]] DeleteResult finish_large(uint8_t* start, const MethodTable* type, size_t size) noexcept {
  if (core::knobs.debug) note_deleted(start, size, type);
  if (!release_large(start, size)) return DeleteResult::kMemoryWaits;
  if (!core::knobs.debug) [[likely]]
    return DeleteResult::kDeleted;
  if (has_unchecked_stack_pins(start)) return DeleteResult::kMayBePinned;
  return core::is_stop_wanted() ? DeleteResult::kStopIsWanted : DeleteResult::kDeleted;
}

// A guarded object is deleted, and its page has gone, unless something may have pinned it.
DeleteResult after_guarded(const uint8_t* start) noexcept {
  if (has_unchecked_stack_pins(start)) return DeleteResult::kMayBePinned;
  return core::is_stop_wanted() ? DeleteResult::kStopIsWanted : DeleteResult::kDeleted;
}

bool is_guarded(size_t page) noexcept { return arena.blocks[page / core::kPagesPerBlock].kind == core::BlockKind::kGuarded; }

[[gnu::noinline]] DeleteResult finish_across_pages(uint8_t* start, size_t size) noexcept {
  if (size > core::kLargeObject) return finish_large(start, nullptr, size);
  count_deleted(reinterpret_cast<uintptr_t>(start), size);
  return DeleteResult::kDeleted;
}

[[gnu::noinline]] DeleteResult finish_dead_page(size_t page) noexcept {
  bool guarded = is_guarded(page);  // the block's record may go with it
  recount_page(page);
  return guarded ? after_guarded(arena.page_start(page)) : DeleteResult::kDeleted;
}

[[gnu::noinline]] DeleteResult already_deleted(uintptr_t address) noexcept {
  register_thread();
  thread_heap.double_deletes++;
  met_history = history_of(address);
  return DeleteResult::kAlreadyDeleted;
}

// The object's memory is gone. Debug mode knows it all the same, and so it is with a guarded one.
[[gnu::noinline]] DeleteResult dangling(uintptr_t address) noexcept {
  if (history_of(address).type != nullptr) return already_deleted(address);
  met_history = {};  // that of another object, which the exception must not tell
  return DeleteResult::kDangling;
}

// What is read of an object: once in each try. A try that meets missing memory, or a block that moves, ends there, and the next one begins anew.
struct Target {
  void* object;
  uint32_t header, sync;
  const MethodTable* type;
  size_t size;

  uint8_t* start() const noexcept { return static_cast<uint8_t*>(object) - core::kHeaderSize; }
};

bool read_size(const void* object, const MethodTable* type, size_t* size) noexcept {
  *size = type->base_size;
  if (!type->has_component_size()) return true;
  uint32_t length;
  if (!core::try_load(static_cast<const uint32_t*>(object) + 2, &length)) return false;
  *size = core::align_up(*size + static_cast<size_t>(type->component_size()) * length, core::kObjectAlignment);
  return true;
}

[[gnu::always_inline]] inline bool read_head(void* object, uint64_t* head, const MethodTable** type) noexcept {
  uint64_t table;
  if (!core::try_load(static_cast<const uint64_t*>(object) - 1, head)) [[unlikely]]
    return false;
  if (!core::try_load(static_cast<const uint64_t*>(object), &table)) [[unlikely]]
    return false;
  *type = reinterpret_cast<const MethodTable*>(table);
  return true;
}

// Deleted bit and accounts of any object; it needs nothing else.
bool finish(const Target& target, DeleteResult* result) noexcept {
  ThreadHeap& heap = thread_heap;
  register_thread();
  if (!core::try_store(reinterpret_cast<uint32_t*>(target.start()), target.header | core::kDeletedBit)) return false;
  heap.deleted_bytes += target.size;
  heap.deleted_objects++;
  *result = DeleteResult::kDeleted;
  auto start = reinterpret_cast<uintptr_t>(target.start());
  if (target.size > shared_at_most()) {
    *result = finish_large(target.start(), target.type, target.size);
  } else {
    bool guarded = is_guarded(arena.page_index(start));  // the block's record may go with it
    count_deleted(start, target.size);
    if (guarded) *result = after_guarded(target.start());
  }
  // The caller is managed code without a frame: it cannot be stopped here, so it must not stop others.
  if (uint32_t every = core::knobs.stress.deletion; every != 0 && heap.deleted_objects % every == 0) [[unlikely]]
    promote(PromotionScope::kRandom, false);
  return true;
}

// One try for any object, of which `head` and `type` were read. False: an access has failed.
bool try_to_delete(void* object, uint64_t head, const MethodTable* type, Deletion deletion, DeleteResult* result) noexcept {
  Target target = {object, static_cast<uint32_t>(head), static_cast<uint32_t>(head >> 32), type, 0};
  if (!read_size(object, type, &target.size)) return false;
  if ((target.header & core::kDeletedBit) != 0 || ((target.sync & core::kSyncPostponed) != 0 && deletion < Deletion::kPostponed)) {
    *result = already_deleted(reinterpret_cast<uintptr_t>(object));
    return true;
  }
  if ((target.header & core::kSharedBit) != 0 && deletion < Deletion::kPostponed) {
    *result = DeleteResult::kShared;
    return true;
  }
  if (type->has_finalizer() && deletion == Deletion::kWhole) {
    if (is_finalizing(object)) {
      *result = DeleteResult::kDeleted;
      return true;
    }
    while ((target.sync & core::kSyncFinalizerRun) == 0) {
      bool claimed;
      auto* word = reinterpret_cast<uint32_t*>(object) - 1;
      if (!core::try_compare_and_swap(word, target.sync, target.sync | core::kSyncFinalizerRun, &claimed)) return false;
      if (claimed) {
        *result = DeleteResult::kNeedsFinalizer;
        return true;
      }
      if (!core::try_load(word, &target.sync)) return false;
    }
  }
  if (deletion <= Deletion::kFinalized && !type->has_component_size() && owns_parts(type)) {
    *result = DeleteResult::kOwnsParts;
    return true;
  }
  if (core::has_lock(target.sync) && deletion != Deletion::kKeepingLock) {
    *result = DeleteResult::kHasSyncEntry;
    return true;
  }
  return finish(target, result);
}

// A try has failed. The only way to the next one, for all.
[[gnu::noinline]] DeleteResult delete_elsewhere(void* object, Deletion deletion) noexcept {
  while (true) {
    void* again = find_again(object);
    if (again == nullptr) return dangling(reinterpret_cast<uintptr_t>(object));
    object = again;
    uint64_t head;
    const MethodTable* type;
    DeleteResult result;
    if (read_head(object, &head, &type) && try_to_delete(object, head, type, deletion, &result)) return result;
  }
}

// All that the fast path leaves: objects with a finalizer, parts, a hash code, a lock or a deleted bit.
[[gnu::noinline]] DeleteResult delete_unusual(void* object, uint64_t head, const MethodTable* type, Deletion deletion) noexcept {
  DeleteResult result;
  return try_to_delete(object, head, type, deletion, &result) ? result : delete_elsewhere(object, deletion);
}

// The first deletion of a thread, debug mode, and what is not in the arena.
[[gnu::noinline]] DeleteResult delete_indirectly(void* object, Deletion deletion) noexcept {
  if (!arena.contains(reinterpret_cast<uintptr_t>(object))) return DeleteResult::kNotDeletable;
  uint64_t head;
  const MethodTable* type;
  return read_head(object, &head, &type) ? delete_unusual(object, head, type, deletion) : delete_elsewhere(object, deletion);
}

// Deleted bit and accounts of an object with an empty header that shares pages. Every way out is a tail call, so that no frame is needed.
[[gnu::always_inline]] inline DeleteResult delete_plain(void* object, uintptr_t offset, size_t size, Deletion deletion) noexcept {
  auto* start = static_cast<uint8_t*>(object) - core::kHeaderSize;
  ThreadHeap& heap = thread_heap;
  if (!core::try_store(reinterpret_cast<uint32_t*>(start), core::kDeletedBit)) [[unlikely]]
    return delete_elsewhere(object, deletion);
  heap.deleted_bytes += size;
  asm("" : "+m"(heap.deleted_objects));  // two words, not a vector: it would wait for the words that another copy of this code stores
  heap.deleted_objects++;
  if (offset % core::kPageSize + size > core::kPageSize) [[unlikely]]
    return finish_across_pages(start, size);
  size_t page = offset / core::kPageSize;
  uint16_t* deleted = &arena.pages[page].deleted;
  uint32_t sum = __atomic_load_n(deleted, __ATOMIC_RELAXED) + static_cast<uint32_t>(size / core::kUnit);
  *const_cast<volatile uint16_t*>(deleted) = static_cast<uint16_t>(sum);  // an atomic store would cost a register more
  if (sum >= core::kUnitsPerPage) [[unlikely]]
    return finish_dead_page(page);
  return DeleteResult::kDeleted;
}

// Arrays and strings with an empty header, on the threads and heaps that take the short way.
[[gnu::noinline]] DeleteResult delete_array(void* object, const MethodTable* type, Deletion deletion) noexcept {
  uint32_t length;
  if (!core::try_load(static_cast<const uint32_t*>(object) + 2, &length)) [[unlikely]]
    return delete_elsewhere(object, deletion);
  size_t size = core::align_up(type->base_size + static_cast<size_t>(type->component_size()) * length, core::kObjectAlignment);
  return delete_plain(object, reinterpret_cast<uintptr_t>(object) - core::kHeaderSize - arena.start, size, deletion);
}

// An object of fixed size with an empty header takes the short way; so does an array, by a jump.
[[gnu::always_inline]] inline DeleteResult delete_any(void* object, Deletion deletion) noexcept {
  uintptr_t place = reinterpret_cast<uintptr_t>(object) - arena.start;
  if (place >= thread_heap.direct) [[unlikely]]
    return delete_indirectly(object, deletion);
  uint64_t head;
  const MethodTable* type;
  if (!read_head(object, &head, &type)) [[unlikely]]
    return delete_elsewhere(object, deletion);
  uint32_t unusual = type->flags & (MethodTable::kHasComponentSize | MethodTable::kHasFinalizer);
  if ((head | unusual | differs_from_no_owner(type)) != 0) [[unlikely]] {
    return (head | (unusual ^ MethodTable::kHasComponentSize)) == 0 ? delete_array(object, type, deletion) : delete_unusual(object, head, type, deletion);
  }
  return delete_plain(object, place - core::kHeaderSize, type->base_size, deletion);
}

}  // namespace

DeleteResult delete_object(void* object) noexcept { return delete_any(object, Deletion::kWhole); }
DeleteResult delete_finalized(void* object) noexcept { return delete_indirectly(object, Deletion::kFinalized); }
DeleteResult delete_itself(void* object) noexcept { return delete_indirectly(object, Deletion::kItself); }
DeleteResult delete_part(void* object) noexcept {
  DeleteResult result = delete_any(object, Deletion::kWhole);
  if (result == DeleteResult::kAlreadyDeleted) {
    thread_heap.double_deletes--;
    met_history = {};
  }
  return result;
}
DeleteResult delete_postponed(void* object) noexcept {
  // The stack would be that of a deletion of another object, which has nothing to do with this one.
  bool before = std::exchange(thread_heap.has_no_part_in_deletion, true);
  DeleteResult result = delete_indirectly(object, Deletion::kPostponed);
  thread_heap.has_no_part_in_deletion = before;
  return result;
}
DeleteResult delete_keeping_lock(void* object) noexcept {
  DeleteResult result = delete_any(object, Deletion::kKeepingLock);
  if (result == DeleteResult::kAlreadyDeleted) met_history = {};  // nobody throws
  return result;
}

bool is_postponed(const void* object) noexcept {
  if (!arena.contains(reinterpret_cast<uintptr_t>(object))) return false;
  uint32_t sync;
  while (!core::try_load(static_cast<const uint32_t*>(object) - 1, &sync)) {
    object = find_again(const_cast<void*>(object));
    if (object == nullptr) return false;
  }
  return (sync & core::kSyncPostponed) != 0;
}

void share(void* object) noexcept {
  if (!arena.contains(reinterpret_cast<uintptr_t>(object))) return;
  while (true) {
    auto* word = reinterpret_cast<uint32_t*>(object) - 2;
    uint32_t header;
    bool done = core::try_load(word, &header);
    // A deleted one is no longer anybody's; its header may be that of a filler by now.
    if (done && (header & (core::kSharedBit | core::kDeletedBit)) != 0) return;
    if (done && core::try_compare_and_swap(word, header, header | core::kSharedBit, &done)) {
      if (done) return;
      continue;
    }
    object = find_again(object);
    if (object == nullptr) return;
  }
}

bool is_shared(const void* object) noexcept {
  if (!arena.contains(reinterpret_cast<uintptr_t>(object))) return false;
  uint32_t header;
  while (!core::try_load(static_cast<const uint32_t*>(object) - 2, &header)) {
    object = find_again(const_cast<void*>(object));
    if (object == nullptr) return false;
  }
  return (header & core::kSharedBit) != 0;
}

void note_dangling_fault(uintptr_t address) noexcept {
  state.dangling_faults.fetch_add(1, std::memory_order_relaxed);
  met_history = history_of(address);
}

History take_history() noexcept {
  History history = met_history;
  met_history = {};
  note_caught(history);
  return history;
}

uint64_t dangling_fault_count() noexcept { return state.dangling_faults.load(std::memory_order_relaxed); }

}  // namespace freehold::heap
