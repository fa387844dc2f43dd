// The runtime of compiled code. The functions that compiled code calls are named __freehold_…; the compiler knows their types (Compiler/runtime_functions.h).
#pragma once

#include <atomic>

#include "abi.h"

namespace freehold::bridge {

// Before anything else, once; later calls do nothing. Ends the process with a message when the table's addresses are taken.
void initialize() noexcept;
bool is_initialized() noexcept;

// How often a handle was passed to code that may keep its address.
extern std::atomic<uint64_t> escaped;

// __freehold_free for who has called the runtime from there. The thread is inside.
void free_for(void* pointer, const void* called_from) noexcept;

}  // namespace freehold::bridge

extern "C" {
uint64_t __freehold_returning_twice();
void __freehold_returned(uint64_t before);
uint32_t __freehold_enter_compiled();
void __freehold_leave_compiled();
void __freehold_landed();
void __freehold_poll(freehold::bridge::PinRecord* pins);
void __freehold_call_out(freehold::bridge::PinRecord* record);
void __freehold_call_back(freehold::bridge::PinRecord* record);
void* __freehold_call_back_with(freehold::bridge::PinRecord* record, void* result);
void* __freehold_pin(void* pointer, void** slot);
void* __freehold_keep(void* pointer, void** slot);
void* __freehold_handle(void* address);
void* __freehold_handle_from(freehold::bridge::PinRecord* record, void* address);
void* __freehold_result(void* pointer);
void* __freehold_malloc(size_t size);
void* __freehold_calloc(size_t count, size_t size);
void __freehold_free(void* pointer);
void* __freehold_realloc(void* pointer, size_t size);
void* __freehold_reallocarray(void* pointer, size_t count, size_t size);
void* __freehold_aligned_alloc(size_t alignment, size_t size);
int __freehold_posix_memalign(void** result, size_t alignment, size_t size);
size_t __freehold_malloc_usable_size(void* pointer);
char* __freehold_strdup(const char* text);
char* __freehold_strndup(const char* text, size_t limit);
}
