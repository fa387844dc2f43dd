// The meshing malloc's whole interface to the kernel, on src/Platform, so that tests can make the n-th call fail. No function here
// allocates, is a cancellation point, or changes errno. Any thread may call any of them. Sizes are in bytes, addresses page-aligned.
#pragma once

#include <cstddef>
#include <cstdint>

#include "Platform/failures.h"
#include "Platform/files.h"
#include "Platform/futex.h"
#include "Platform/lock.h"
#include "Platform/memory.h"
#include "Platform/time.h"

namespace freehold::mesh::os {

using freehold::os::kPageShift;
using freehold::os::kPageSize;
using freehold::os::Lock;
using freehold::os::LockGuard;
using freehold::os::nanoseconds;
using freehold::os::pause;
using freehold::os::wait_on;
using freehold::os::wake_all;
using freehold::os::write_error;

enum class Call : uint8_t {
#define FREEHOLD_MESH_CALL(enumerator, name, error) k##enumerator,
#include "kernel_calls.inc"
  kCount
};

// A file of memory that is closed by exec, with a number above those that programs use. Negative: none.
int create_memory(size_t size) noexcept;
// The descriptor still names the file that create_memory made: a program may have closed it and opened something else.
bool is_memory(int descriptor) noexcept;
void close(int descriptor) noexcept;

// Address space without memory (PROT_NONE). Null when there is none.
void* reserve(size_t size) noexcept;
void unreserve(void* start, size_t size) noexcept;
// Somebody has reserved that address, and not given it up. A hint: of the first 32 ranges.
bool is_reserved(uintptr_t address) noexcept;
// Replaces what is mapped there. `shared`: writes go to the file; otherwise to pages of this process.
bool map_file(void* start, size_t size, int descriptor, size_t offset, bool shared) noexcept;
// Memory of this process, zero, readable and writable. Replaces what is mapped there.
bool commit(void* start, size_t size) noexcept;
// A pipe that is closed by exec. False: there are no descriptors.
bool open_pipe(int (&ends)[2]) noexcept;
void write_to_pipe(int descriptor) noexcept;
// Until somebody writes, or nobody can any more.
void wait_for_pipe(int descriptor) noexcept;
// A page of zeros that a child of a fork has in common with its parent. Null: none.
void* share_page() noexcept;
// `to` becomes a second name of the pages that `from`, a shared mapping of a file, has.
bool alias(void* from, void* to, size_t size) noexcept;
// The frames of memory made by `commit` move to a range made by `commit`; the old range reads as zero. Both stay mapped.
bool move_frames(void* from, void* to, size_t size) noexcept;
// Gives memory made by `commit` back: it reads as zero.
bool discard(void* start, size_t size) noexcept;
// Gives the pages of the file back, for all names and processes.
bool remove(void* start, size_t size) noexcept;
// Makes pages present ahead of their first use. A hint.
void populate(void* start, size_t size) noexcept;
// Core dumps leave the range out, or have it. A hint.
void exclude_from_dumps(void* start, size_t size, bool exclude) noexcept;
// A hint.
void use_huge_pages(void* start, size_t size) noexcept;
bool protect(void* start, size_t size, bool writable) noexcept;
bool is_mapped(void* start, size_t size) noexcept;  // of 16 pages at most

// A userfaultfd, whose writers wait: in kernel code too, unless `user_mode_only`. Negative: the kernel refuses.
int open_userfaultfd(bool user_mode_only) noexcept;
// The descriptor still is one: a program may have closed it and opened something else.
bool is_userfaultfd(int descriptor) noexcept;
bool watch(int descriptor, void* start, size_t size) noexcept;
void unwatch(int descriptor, void* start, size_t size) noexcept;
// Lifting the protection lets the waiting writers go on.
bool write_protect(int descriptor, void* start, size_t size, bool protect) noexcept;
void wake(int descriptor, void* start, size_t size) noexcept;

// Of the calling thread: SIGSEGV.
void unblock_faults() noexcept;
// Of the calling thread, or the kernel does not say.
bool may_be_on_alternate_stack() noexcept;
// What mlock2 answers, 0 or a negative number.
long lock_memory(uintptr_t start, uintptr_t end, unsigned flags) noexcept;

// As in Platform/files.h.
long read_file(const char* path, char* text, size_t capacity) noexcept;
size_t maximal_mappings() noexcept;
// Negative: it cannot be opened. For read_some.
int open_file(const char* path) noexcept;
long read_some(int file, char* text, size_t capacity) noexcept;
// A full fence on every thread of the process that runs. False when the kernel refuses.
bool register_barrier() noexcept;
bool barrier_on_all_threads() noexcept;

uint64_t milliseconds() noexcept;    // of a coarse clock that never goes back
uint64_t processor_time() noexcept;  // of this thread, in nanoseconds
uint64_t random() noexcept;
uint64_t physical_memory() noexcept;  // bytes
// Platform/failures.h; what was asked for before is forgotten.
bool inject_failures(const char* specification) noexcept;
uint64_t call_count(Call call) noexcept;
const char* call_name(Call call) noexcept;

[[noreturn]] void fail_fast(const char* what, const void* address) noexcept;

}  // namespace freehold::mesh::os
