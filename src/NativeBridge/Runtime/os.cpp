#include "os.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>

#include <atomic>

#include "Platform/system_call.h"

namespace freehold::bridge::os {

namespace {

using freehold::os::argument;
using freehold::os::system_call;

std::atomic<uint64_t> failing_map{0};

constexpr size_t kReservation = size_t{64} << 20;  // what is larger is reserved, and not used as a whole

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
  system_call(SYS_write, 2, argument(line), static_cast<long>(used));
}

void* map_as(int protection, size_t size, uintptr_t at) noexcept {
  if (failing_map.load(std::memory_order_relaxed) != 0 && failing_map.fetch_sub(1, std::memory_order_relaxed) == 1) {
    errno = ENOMEM;
    return nullptr;
  }
  int reason = ENOMEM;
  // Where the process locks all that it maps (mlockall), a mapping that can be used is made present as a whole.
  bool is_reservation = size >= kReservation;
  int first = is_reservation ? PROT_NONE : protection;
  void* start = at == 0 ? freehold::os::map_private(nullptr, size, first) : freehold::os::map_private_at(at, size, first, &reason);
  if (start != nullptr && is_reservation) {
    system_call(SYS_munlock, argument(start), static_cast<long>(size));
    if (!freehold::os::protect(start, size, protection)) {
      freehold::os::unmap(start, size);
      start = nullptr;
    }
  }
  if (start == nullptr) errno = reason;
  return start;
}

}  // namespace

void* map(size_t size, uintptr_t at) noexcept { return map_as(PROT_READ | PROT_WRITE, size, at); }
bool map_zeroes(size_t size, uintptr_t at) noexcept { return map_as(PROT_READ, size, at) != nullptr; }

void discard(void* start, size_t size) noexcept { freehold::os::advise(start, size, MADV_DONTNEED); }

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
