// System calls for linux-x64.
#include "os/kernel.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <atomic>

#include "Platform/membarrier.h"
#include "os/failure_injection.h"

namespace freehold::os {
namespace {

void* map_or_fail(void* at, size_t size, int protection, int flags) noexcept {
  return injected_failure(Call::kMmap) ? nullptr : map_private(at, size, protection, flags);
}
bool protect_or_fail(void* start, size_t size, int protection) noexcept { return !injected_failure(Call::kMprotect) && protect(start, size, protection); }
bool advise_or_fail(void* start, size_t size, int advice) noexcept { return !injected_failure(Call::kMadvise) && advise(start, size, advice); }

}  // namespace

uint64_t random_seed() noexcept {
  uint64_t seed = 0;
  if (auto* bytes = reinterpret_cast<const void*>(getauxval(AT_RANDOM)); bytes != nullptr) memcpy(&seed, bytes, sizeof seed);
  return seed ^ nanoseconds();
}

void* reserve(size_t size, size_t alignment, uintptr_t hint) noexcept {
  if (hint != 0 && !injected_failure(Call::kMmap)) {
    int reason;
    if (void* wanted = map_private_at(hint, size, PROT_NONE, &reason)) return wanted;
  }
  char* start = static_cast<char*>(map_or_fail(nullptr, size + alignment, PROT_NONE, 0));
  if (start == nullptr) return nullptr;
  char* aligned = reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(start) + alignment - 1) & ~(alignment - 1));
  if (aligned != start) unmap(start, static_cast<size_t>(aligned - start));
  unmap(aligned + size, static_cast<size_t>(start + alignment - aligned));
  return aligned;
}

void unreserve(void* start, size_t size) noexcept { unmap(start, size); }

bool protect_read_write(void* start, size_t size) noexcept { return protect_or_fail(start, size, PROT_READ | PROT_WRITE); }

bool commit(void* start, size_t size) noexcept { return protect_read_write(start, size); }

bool decommit(void* start, size_t size) noexcept { return map_or_fail(start, size, PROT_NONE, MAP_FIXED) != nullptr; }

bool protect_none(void* start, size_t size) noexcept { return protect_or_fail(start, size, PROT_NONE); }

bool protect_read(void* start, size_t size) noexcept { return protect_or_fail(start, size, PROT_READ); }

bool lift_protection(void* start, size_t size) noexcept { return protect(start, size, PROT_READ | PROT_WRITE); }

bool discard(void* start, size_t size) noexcept { return advise_or_fail(start, size, MADV_DONTNEED); }

bool guard(void* start, size_t size) noexcept {
  constexpr int kGuardInstall = 102;  // newer than most headers
  return advise_or_fail(start, size, kGuardInstall);
}

bool populate(void* start, size_t size) noexcept {
  constexpr int kPopulateWrite = 23;  // newer than some headers
  return advise_or_fail(start, size, kPopulateWrite);
}

void use_huge_pages(void* start, size_t size, bool use) noexcept { advise_or_fail(start, size, use ? MADV_HUGEPAGE : MADV_NOHUGEPAGE); }

bool move_frames(void* from, void* to, size_t size) noexcept { return !injected_failure(Call::kMremap) && remap_frames(from, to, size); }

bool keep_apart(void* start, size_t size, MappingKind kind) noexcept {
  // A flag of the mapping that travels with the frames. All it does by itself is to read ahead less or more, which memory without a file does not.
  return advise_or_fail(start, size, kind == MappingKind::kOdd ? MADV_RANDOM : kind == MappingKind::kEven ? MADV_SEQUENTIAL : MADV_NORMAL);
}

bool register_barrier() noexcept { return !injected_failure(Call::kMembarrier) && request_membarrier(); }

void barrier_on_all_threads() noexcept {
  if (!membarrier()) fail_fast("the kernel takes membarrier back.", nullptr);
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

size_t processors() noexcept {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  int count = CPU_COUNT(&set);
  return count > 0 ? static_cast<size_t>(count) : 1;
}

size_t mappings_at_most() noexcept {
  static std::atomic<size_t> known{0};  // every reader finds the same
  size_t most = known.load(std::memory_order_relaxed);
  if (most != 0) return most;
  most = maximal_mappings();
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
