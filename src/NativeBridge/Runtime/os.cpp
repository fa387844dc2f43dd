#include "os.h"

#include <errno.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace freehold::bridge::os {

namespace {

std::atomic<uint64_t> failing_map{0};

size_t put(char* out, size_t used, size_t size, const char* text) noexcept {
  for (; *text != '\0' && used < size; text++) out[used++] = *text;
  return used;
}

size_t put_number(char* out, size_t used, size_t size, uint64_t value, unsigned base) noexcept {
  char digits[24];
  size_t n = sizeof digits;
  digits[--n] = '\0';
  do digits[--n] = "0123456789abcdef"[value % base];
  while ((value /= base) != 0);
  return put(out, used, size, digits + n);
}

void print_list(const char* format, va_list arguments) noexcept {
  char line[1024];
  size_t used = 0;
  for (const char* c = format; *c != '\0' && used < sizeof line; c++) {
    if (*c != '%') {
      line[used++] = *c;
    } else if (*++c == 's') {
      used = put(line, used, sizeof line, va_arg(arguments, const char*));
    } else {
      used = put_number(line, used, sizeof line, va_arg(arguments, uint64_t), *c == 'x' ? 16 : 10);
    }
  }
  int saved = errno;
  if (write(2, line, used) < 0) errno = saved;
  errno = saved;
}

}  // namespace

void* map(size_t size, uintptr_t at) noexcept {
  if (failing_map.load(std::memory_order_relaxed) != 0 && failing_map.fetch_sub(1, std::memory_order_relaxed) == 1) return nullptr;
  int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (at != 0 ? MAP_FIXED_NOREPLACE : 0);
  void* start = mmap(reinterpret_cast<void*>(at), size, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (start == MAP_FAILED) return nullptr;
  // A kernel that does not know MAP_FIXED_NOREPLACE takes the address for a hint.
  if (at != 0 && reinterpret_cast<uintptr_t>(start) != at) {
    munmap(start, size);
    return nullptr;
  }
  return start;
}

void unmap(void* start, size_t size) noexcept { munmap(start, size); }

void discard(void* start, size_t size) noexcept {
  int saved = errno;
  madvise(start, size, MADV_DONTNEED);
  errno = saved;
}

bool register_barrier() noexcept { return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0; }
void barrier_on_all_threads() noexcept { syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0); }

void wait(std::atomic<uint32_t>& word, uint32_t while_it_is) noexcept {
  int saved = errno;
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, while_it_is, nullptr, nullptr, 0);
  errno = saved;
}

void wake_all(std::atomic<uint32_t>& word) noexcept { syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT32_MAX, nullptr, nullptr, 0); }

void pause(uint64_t microseconds) noexcept {
  timespec time{static_cast<time_t>(microseconds / 1'000'000), static_cast<long>(microseconds % 1'000'000 * 1000)};
  int saved = errno;
  syscall(SYS_nanosleep, &time, nullptr);
  errno = saved;
}

uint64_t nanoseconds() noexcept {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

void fail_map(uint64_t n) noexcept { failing_map.store(n, std::memory_order_relaxed); }

void print(const char* format, ...) noexcept {
  va_list arguments;
  va_start(arguments, format);
  print_list(format, arguments);
  va_end(arguments);
}

void fail(const char* format, ...) noexcept {
  va_list arguments;
  va_start(arguments, format);
  print_list(format, arguments);
  va_end(arguments);
  abort();
}

}  // namespace freehold::bridge::os
