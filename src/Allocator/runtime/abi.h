// The native entry points of Freehold that managed code calls; System.Heap/NativeHeap.cs declares the same list.
// All but freehold_verify, freehold_promote, freehold_release_unpinned, freehold_hold_sweeps and the two about what is unreachable are internal calls: in cooperative mode, without a
// transition frame. They must be short and must not block.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {
int32_t freehold_delete(void* object) noexcept;  // heap::delete_object itself
int32_t freehold_delete_finalized(void* object) noexcept;
int32_t freehold_delete_itself(void* object) noexcept;
int32_t freehold_delete_part(void* object) noexcept;
int32_t freehold_delete_keeping_lock(void* object) noexcept;
int32_t freehold_take_dead_lock() noexcept;
// Around a finalizer that a deletion runs: heap::RunningFinalizer.
void freehold_begin_finalizer(void* running) noexcept;
void freehold_end_finalizer(const void* running) noexcept;
void* freehold_finalizer(void* object) noexcept;
void freehold_take_history(void* history) noexcept;
int32_t freehold_read_stack(uint32_t stack, uintptr_t* addresses, int32_t capacity) noexcept;
int32_t freehold_is_deleted(void* object) noexcept;
void* freehold_pin(void* address) noexcept;
uintptr_t freehold_current_address(uintptr_t address) noexcept;
uint64_t freehold_is_same(uintptr_t a, uintptr_t b) noexcept;
intptr_t freehold_difference(uintptr_t a, uintptr_t b) noexcept;
void freehold_get_statistics(uint64_t* values, int32_t count) noexcept;
void freehold_release_unpinned() noexcept;         // an ordinary P/Invoke: stops the threads
int64_t freehold_promote() noexcept;               // an ordinary P/Invoke: a round takes time
void freehold_hold_sweeps(int32_t hold) noexcept;  // an ordinary P/Invoke: waits for a sweep to end
// Ordinary P/Invokes: they stop the threads. SearchResult, and heap::UnreachableType; how many objects were deleted, or -1.
int32_t freehold_find_unreachable(void* entries, int32_t capacity) noexcept;
int64_t freehold_reclaim() noexcept;
int64_t freehold_verify(char* message, int64_t capacity) noexcept;
void* freehold_handle_get(void* handle) noexcept;
void* freehold_memmove(void* destination, const void* source, size_t size) noexcept;
void* freehold_memset(void* destination, int value, size_t size) noexcept;
}
