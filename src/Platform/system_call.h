// System calls without the C library: errno stays as it is (free must not change it), nothing is a cancellation point, and no lock is taken that a faulting thread
// may have. Signal-safe, any thread.
#pragma once

#include <sys/syscall.h>

namespace freehold::os {

// The kernel's answer; an error is its number, negative.
inline long system_call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) noexcept {
  long result;
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  asm volatile("syscall" : "=a"(result) : "0"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
  return result;
}

constexpr bool is_error(long result) noexcept { return result < 0 && result > -4096; }
inline long argument(const void* pointer) noexcept { return reinterpret_cast<long>(pointer); }

}  // namespace freehold::os
