// The heap as the layers above see it: what the GC interface, the fault handler and the ABI call.
// Owns nothing itself; every function says which threads may call it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "heap/history.h"

namespace freehold::heap {

// The first 56 bytes of the runtime's Thread: its bump allocator (runtime-facts: gc_alloc_context).
struct AllocationContext {
  uint8_t* alloc_ptr;
  uint8_t* alloc_limit;
  int64_t alloc_bytes;      // bytes handed to the thread, up to alloc_limit
  int64_t alloc_bytes_uoh;  // bytes of large and pinned objects
  void* chunk_end;          // gc_reserved_1: end of the thread's chunk (the limit moves towards it as memory is zeroed)
  void* reserved;           // gc_reserved_2
  int32_t alloc_count;
};
static_assert(sizeof(AllocationContext) == 56);

enum AllocationFlags : uint32_t {
  kAllocFinalize = 1,
  kAllocContainsReferences = 2,
  kAllocZeroingOptional = 0x10,
  kAllocLarge = 0x20,
  kAllocPinned = 0x40,
};

// Reserves the address space and starts the background thread; `limit` bytes of physical memory are what the heap may hold. Called once, from GC_Initialize,
// before any managed code. On failure prints what was wrong and how to mend it, and returns false.
bool initialize(size_t limit) noexcept;

// The slow path of allocation: returns zeroed memory for an object of `size` bytes (a multiple of 8), header included: the
// result is the object pointer, 8 bytes into it. Null when memory is exhausted. Any thread, with its own context.
void* allocate(AllocationContext* context, size_t size, uint32_t flags) noexcept;

// The short part of it: moves the limit of the context within its chunk, so that an object of `size` bytes fits. False: that takes allocate(). Blocks on
// nothing. Any thread, with its own context.
bool extend(AllocationContext* context, size_t size) noexcept;

// Gives back what is left of a thread's chunk. The thread itself, on exit.
void retire(AllocationContext* context) noexcept;

enum class DeleteResult : int32_t { kDeleted = 0, kNeedsFinalizer = 1, kAlreadyDeleted = 2, kNotDeletable = 3, kDangling = 4, kHasSyncEntry = 5, kMayBePinned = 6 };
// Ends the life of an object. Any thread in cooperative mode. Never faults, never blocks. kNeedsFinalizer is answered to one caller, once: it must
// run the finalizer and come again. kMayBePinned, in debug mode only: it is deleted, and release_what_no_thread_pins() will take its memory if no pin is left.
// Managed code calls it by its symbol, without a wrapper in between (runtime/abi.h).
DeleteResult delete_object(void* object) noexcept asm("freehold_delete");
// The same after the finalizer has run, whether or not that has registered the object again: never kNeedsFinalizer.
DeleteResult delete_finalized(void* object) noexcept;
// The same, whatever the runtime's table of locks has for the object: a lock that is held stays usable, its entry is not reused. Never kNeedsFinalizer.
DeleteResult delete_keeping_lock(void* object) noexcept;

// What an address inside the arena is now. Lock-free, safe in a signal handler.
enum class AddressState { kOutside, kLive, kDeletedMapped, kDead, kNeverUsed };
AddressState classify(const void* address) noexcept;
// Whether header, type and length of an object are there: a deleted one may lose the pages that these lie on one by one. Lock-free, safe in a signal handler.
bool is_whole(const void* object) noexcept;
// True when the object was deleted, or its memory is gone. Never faults.
bool is_deleted(const void* object) noexcept;
// True for [arena start, arena end): whoever faults there is ours to answer. Signal-safe.
bool in_arena(uintptr_t address) noexcept;

// A fault at `address` is answered by a DanglingReferenceException: counts it and, in debug mode, notes what is known of the object. Signal-safe.
void note_dangling_fault(uintptr_t address) noexcept;
// What this thread's last such fault, or deletion of what is deleted, has noted, once.
History take_history() noexcept;
uint64_t dangling_fault_count() noexcept;

// Figures for System.GC. Any thread.
size_t total_bytes_in_use() noexcept;       // allocated - deleted
uint64_t total_allocated_bytes() noexcept;  // since start, exact up to the open chunks
size_t heap_limit() noexcept;               // of physical memory
size_t resident_bytes() noexcept;           // physical memory held by the heap
uint64_t released_bytes() noexcept;         // given back to the system or recycled

// GC.Collect: recounts suspicious pages, releases dead memory, gives pooled frames back. Any thread, preemptive mode.
void collect() noexcept;

// Forgets everything, the arena excepted. Tests only.
void reset_heap() noexcept;

}  // namespace freehold::heap
