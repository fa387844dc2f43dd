// The interface to the kernel: every mapping that the heap makes goes through here, so that tests can make the n-th call fail (os/failure_injection.h).
// os/watching.h watches them.
// All functions may be called from any thread; none allocates. Sizes are in bytes, addresses page-aligned.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "Platform/files.h"
#include "Platform/memory.h"
#include "Platform/time.h"
#include "os/failure_injection.h"

namespace freehold::os {

// Address space without memory (PROT_NONE). Tries `hint` first; null when there is none. `alignment` is a power of two.
void* reserve(size_t size, size_t alignment, uintptr_t hint) noexcept;
void unreserve(void* start, size_t size) noexcept;
// The same of what a pointer leads to, if that is not null. It is null before: in the child of a fork that comes in between, the addresses may be somebody else's.
template <typename T>
void unreserve_at(T*& start, size_t size) noexcept {
  void* old = start;
  start = nullptr;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (old != nullptr) unreserve(old, size);
}

// Makes reserved pages readable and writable. They read as zero until written.
bool commit(void* start, size_t size) noexcept;
// Gives the memory back and makes the range inaccessible; neighbouring ranges of this kind become one mapping.
bool decommit(void* start, size_t size) noexcept;
// No access; the contents stay.
bool protect_none(void* start, size_t size) noexcept;
bool protect_read(void* start, size_t size) noexcept;
bool lift_protection(void* start, size_t size) noexcept;  // after protect_read. Never made to fail: there is no way on without it
bool protect_read_write(void* start, size_t size) noexcept;
// Gives the memory back; the range stays accessible (or watched by userfaultfd).
bool discard(void* start, size_t size) noexcept;
// Gives the memory back and makes the range inaccessible without a mapping of its own, until decommit or unreserve (MADV_GUARD_INSTALL). The kernel keeps a
// table of 4 KB for each 2 MB. False also before Linux 6.13, which does not know it.
bool guard(void* start, size_t size) noexcept;
// Gives each page memory, which reads as zero. False also before Linux 5.14, which does not know it.
bool populate(void* start, size_t size) noexcept;
// Asks for huge pages, or for none. A hint: failure is harmless.
void use_huge_pages(void* start, size_t size, bool use) noexcept;
// Moves the frames from one range to another that is reserved; the old range stays mapped, empty (MREMAP_DONTUNMAP).
bool move_frames(void* from, void* to, size_t size) noexcept;
enum class MappingKind : uint8_t { kNone, kEven, kOdd };
// The range's mapping never becomes one with a mapping of another kind, wherever its frames move.
bool keep_apart(void* start, size_t size, MappingKind kind) noexcept;

// A full fence on every thread of the process that runs, on demand: the threads themselves then need none. False when the kernel refuses.
bool register_barrier() noexcept;
void barrier_on_all_threads() noexcept;

// Another number in each process, and at each call.
uint64_t random_seed() noexcept;
size_t resident_set() noexcept;  // of this process
size_t processors() noexcept;    // that this thread may run on; 1 at least
// maximal_mappings(), read once.
size_t mappings_at_most() noexcept;
// Lines of a file of /proc; 0 when it cannot be read.
size_t count_lines(const char* path) noexcept;
// The name of a thread of this process, with a zero behind it, cut to fit; empty when there is no such thread any more.
void thread_name(uint32_t id, char* text, size_t capacity) noexcept;

[[noreturn]] void fail_fast(const char* what, const char* cure) noexcept;

}  // namespace freehold::os
