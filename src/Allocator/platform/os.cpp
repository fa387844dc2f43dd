// System calls for linux-x64.
#include "platform/os.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

#include "platform/failure_injection.h"

namespace freehold::os {
namespace {

void* map(void* at, size_t size, int protection, int flags) noexcept {
  if (injected_failure(Call::kMmap)) return nullptr;
  void* result = mmap(at, size, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
  return result == MAP_FAILED ? nullptr : result;
}

}  // namespace

void* reserve(size_t size, size_t alignment, uintptr_t hint) noexcept {
  if (hint != 0) {
    void* wanted = map(reinterpret_cast<void*>(hint), size, PROT_NONE, MAP_FIXED_NOREPLACE);
    if (wanted == reinterpret_cast<void*>(hint)) return wanted;
    if (wanted != nullptr) munmap(wanted, size);  // a kernel that does not know the flag
  }
  char* start = static_cast<char*>(map(nullptr, size + alignment, PROT_NONE, 0));
  if (start == nullptr) return nullptr;
  char* aligned = reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(start) + alignment - 1) & ~(alignment - 1));
  if (aligned != start) munmap(start, static_cast<size_t>(aligned - start));
  munmap(aligned + size, static_cast<size_t>(start + alignment - aligned));
  return aligned;
}

void unreserve(void* start, size_t size) noexcept { munmap(start, size); }

bool protect_read_write(void* start, size_t size) noexcept { return !injected_failure(Call::kMprotect) && mprotect(start, size, PROT_READ | PROT_WRITE) == 0; }

bool commit(void* start, size_t size) noexcept { return protect_read_write(start, size); }

bool decommit(void* start, size_t size) noexcept { return map(start, size, PROT_NONE, MAP_FIXED) != nullptr; }

bool protect_none(void* start, size_t size) noexcept { return !injected_failure(Call::kMprotect) && mprotect(start, size, PROT_NONE) == 0; }

bool protect_read(void* start, size_t size) noexcept { return !injected_failure(Call::kMprotect) && mprotect(start, size, PROT_READ) == 0; }

bool lift_protection(void* start, size_t size) noexcept { return mprotect(start, size, PROT_READ | PROT_WRITE) == 0; }

bool discard(void* start, size_t size) noexcept { return !injected_failure(Call::kMadvise) && madvise(start, size, MADV_DONTNEED) == 0; }

bool guard(void* start, size_t size) noexcept {
  constexpr int kGuardInstall = 102;  // newer than most headers
  return !injected_failure(Call::kMadvise) && madvise(start, size, kGuardInstall) == 0;
}

void use_huge_pages(void* start, size_t size, bool use) noexcept {
  if (!injected_failure(Call::kMadvise)) (void)madvise(start, size, use ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
}

bool move_frames(void* from, void* to, size_t size) noexcept {
  if (injected_failure(Call::kMremap)) return false;
  return mremap(from, size, size, MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP, to) != MAP_FAILED;
}

bool keep_apart(void* start, size_t size, MappingKind kind) noexcept {
  // A flag of the mapping that travels with the frames. All it does by itself is to read ahead less or more, which memory without a file does not.
  int advice = kind == MappingKind::kOdd ? MADV_RANDOM : kind == MappingKind::kEven ? MADV_SEQUENTIAL : MADV_NORMAL;
  return !injected_failure(Call::kMadvise) && madvise(start, size, advice) == 0;
}

bool register_barrier() noexcept {
  return !injected_failure(Call::kMembarrier) && syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
}

void barrier_on_all_threads() noexcept {
  // Once registered, it does not fail.
  if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) != 0) fail_fast("the kernel takes membarrier back.", nullptr);
}

uint64_t nanoseconds() noexcept {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

void pause(uint64_t microseconds) noexcept {
  timespec time = {static_cast<time_t>(microseconds / 1'000'000), static_cast<long>(microseconds % 1'000'000 * 1000)};
  // Not nanosleep(): a thread that waits for a moving block must not be cancelled there.
  syscall(SYS_nanosleep, &time, nullptr);
}

size_t resident_set() noexcept {
  int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  char text[128] = {};
  ssize_t length = read(file, text, sizeof text - 1);
  close(file);
  if (length <= 0) return 0;
  char* rest = nullptr;
  strtoull(text, &rest, 10);
  return strtoull(rest, nullptr, 10) * kPageSize;
}

size_t mappings_at_most() noexcept {
  static std::atomic<size_t> known{0};  // every reader finds the same
  size_t most = known.load(std::memory_order_relaxed);
  if (most != 0) return most;
  most = 65'530;  // the kernel's own default
  if (int file = open("/proc/sys/vm/max_map_count", O_RDONLY | O_CLOEXEC); file >= 0) {
    char text[32] = {};
    if (read(file, text, sizeof text - 1) > 0 && strtoull(text, nullptr, 10) != 0) most = strtoull(text, nullptr, 10);
    close(file);
  }
  known.store(most, std::memory_order_relaxed);
  return most;
}

size_t count_lines(const char* path) noexcept {
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  size_t lines = 0;
  char text[4096];
  for (ssize_t length; (length = read(file, text, sizeof text)) > 0;) {
    for (ssize_t i = 0; i < length; i++) lines += text[i] == '\n' ? 1 : 0;
  }
  close(file);
  return lines;
}

void thread_name(uint32_t id, char* text, size_t capacity) noexcept {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/task/%u/comm", id);
  text[0] = 0;
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  ssize_t length = read(file, text, capacity - 1);
  close(file);
  if (length > 0 && text[length - 1] == '\n') length--;
  text[length > 0 ? length : 0] = 0;
}

void write_error(const char* text) noexcept {
  size_t left = strlen(text);
  while (left > 0) {
    ssize_t written = write(STDERR_FILENO, text, left);
    if (written <= 0) return;
    text += written;
    left -= static_cast<size_t>(written);
  }
}

void fail_fast(const char* what, const char* cure) noexcept {
  write_error("Freehold: ");
  write_error(what);
  write_error("\n");
  if (cure != nullptr) {
    write_error(cure);
    write_error("\n");
  }
  abort();
}

}  // namespace freehold::os
