// The few functions of the system that the runtime needs, on src/Platform. Thread-safe; none allocates with malloc. Sizes in bytes, of whole pages.
#pragma once

#include <cstddef>
#include <cstdint>

#include "Platform/futex.h"
#include "Platform/lock.h"
#include "Platform/membarrier.h"
#include "Platform/memory.h"
#include "Platform/time.h"

namespace freehold::bridge::os {

using freehold::os::kPageSize;
using freehold::os::Lock;
using freehold::os::LockGuard;
using freehold::os::membarrier;
using freehold::os::nanoseconds;
using freehold::os::pause;
using freehold::os::request_membarrier;
using freehold::os::unmap;
using freehold::os::wait_on;
using freehold::os::wake_all;

// Readable and writable zeroes that take no memory until written. `at` demands that address (0: anywhere). Null: refused, errno says why.
void* map(size_t size, uintptr_t at = 0) noexcept;
// Zeroes to read, at that address. False: refused, errno is EEXIST when something is there.
bool map_zeroes(size_t size, uintptr_t at) noexcept;
// Gives the memory back; the range reads as zero.
void discard(void* start, size_t size) noexcept;

// For tests: the n-th mapping from now on fails. 0: none.
void fail_map(uint64_t n) noexcept;

// Both format with %s, %u, %x (64-bit) and nothing else, into standard error in one write. Usable in a signal handler.
void print(const char* format, ...) noexcept;
[[noreturn]] void fail(const char* format, ...) noexcept;

}  // namespace freehold::bridge::os
