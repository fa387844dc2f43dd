// The few functions of the system that the runtime needs. Thread-safe; none allocates with malloc. Sizes in bytes, of whole pages.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace freehold::bridge::os {

inline constexpr size_t kPageSize = 4096;

// Readable and writable zeroes that take no memory until written. `at` demands that address (0: anywhere). Null: refused.
void* map(size_t size, uintptr_t at = 0) noexcept;
void unmap(void* start, size_t size) noexcept;
// Gives the memory back; the range reads as zero.
void discard(void* start, size_t size) noexcept;

// True: barrier_on_all_threads works. Otherwise the threads need fences of their own.
bool register_barrier() noexcept;
void barrier_on_all_threads() noexcept;

void wait(std::atomic<uint32_t>& word, uint32_t while_it_is) noexcept;
void wake_all(std::atomic<uint32_t>& word) noexcept;
void pause(uint64_t microseconds) noexcept;
uint64_t nanoseconds() noexcept;

// For tests: the n-th call of map from now on fails. 0: none.
void fail_map(uint64_t n) noexcept;

// Both format with %s, %u, %x (64-bit) and nothing else, into standard error in one write. Usable in a signal handler.
void print(const char* format, ...) noexcept;
[[noreturn]] void fail(const char* format, ...) noexcept;

}  // namespace freehold::bridge::os
