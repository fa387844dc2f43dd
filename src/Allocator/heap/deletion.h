// Deletion: the end of one object's life.
#pragma once

#include <cstdint>

#include "heap/history.h"

namespace freehold::heap {

enum class DeleteResult : int32_t {
  kDeleted = 0,
  kNeedsFinalizer = 1,
  kAlreadyDeleted = 2,
  kNotDeletable = 3,
  kDangling = 4,
  kHasSyncEntry = 5,
  kMayBePinned = 6,
  kOwnsParts = 7,
  kStopIsWanted = 8,
  kShared = 9,
  kMemoryWaits = 10
};
constexpr bool has_deleted(DeleteResult result) noexcept {
  return result == DeleteResult::kDeleted || result == DeleteResult::kMayBePinned || result == DeleteResult::kStopIsWanted ||
         result == DeleteResult::kMemoryWaits;
}

// Ends the life of an object. Any thread in cooperative mode. Never faults, never blocks. kNeedsFinalizer is answered to one caller, once: it must
// run the finalizer and come again. kOwnsParts is answered, after the finalizer has run, for what owns other objects: the caller finds out what these are and
// comes again for the object itself. kMayBePinned, in debug mode and of guarded objects only: it is deleted, and release_what_no_thread_pins() will take its memory if no pin is left.
// kStopIsWanted, likewise: it is deleted, and a stop of the threads waits for the caller (core/stop_request.h).
// kMemoryWaits: it is deleted, and its memory, which is much, goes with end_listed_huge() (heap/huge_ends.h).
// Managed code calls it by its symbol, without a wrapper in between (runtime/abi.h).
DeleteResult delete_object(void* object) noexcept asm("freehold_delete");
// The same after the finalizer has run, whether or not that has registered the object again: never kNeedsFinalizer.
DeleteResult delete_finalized(void* object) noexcept;
// The same, when the caller sees to the parts too: never kOwnsParts.
DeleteResult delete_itself(void* object) noexcept;
// As delete_object(), for what another object owned: that it is gone already is nobody's mistake, and no double delete in the statistics.
DeleteResult delete_part(void* object) noexcept;
// The same, whatever the runtime's table of locks has for the object: a lock that is held stays usable, its entry is not reused. Neither kNeedsFinalizer nor kOwnsParts.
DeleteResult delete_keeping_lock(void* object) noexcept;
// As delete_itself(), for an object that FreeholdReleaseSyncEntry has marked (core::kSyncPostponed), when its lock is free.
DeleteResult delete_postponed(void* object) noexcept;
// Whether it was marked: deleted, though its memory has to wait for its lock.
bool is_postponed(const void* object) noexcept;

// From now on delete_object() and its kind answer kShared and leave it: the framework keeps the object in a static, and gives it to all who ask. What finds out that nothing leads to an
// object deletes it all the same. Any thread in cooperative mode, any value. Never faults, never blocks.
void share(void* object) noexcept;
bool is_shared(const void* object) noexcept;

// A fault at `address` is answered by a DanglingReferenceException: counts it and, in debug mode, notes what is known of the object. Signal-safe.
void note_dangling_fault(uintptr_t address) noexcept;
// What this thread's last such fault, or deletion of what is deleted, has noted, once.
History take_history() noexcept;
uint64_t dangling_fault_count() noexcept;

}  // namespace freehold::heap
