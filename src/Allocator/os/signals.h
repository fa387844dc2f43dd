// The kernel's view of a thread's signal mask, for what must not go through the C library's functions: the program may have others in their place.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>
#include <cerrno>
#include <csignal>
#include <cstdint>

namespace freehold::os {

using SignalMask = uint64_t;  // a bit for each signal

constexpr SignalMask signal_bit(int signal) noexcept { return SignalMask{1} << (signal - 1); }

// SIG_BLOCK, SIG_UNBLOCK or SIG_SETMASK; either pointer may be null. 0, or an error number. Signal-safe, keeps errno.
inline int change_signal_mask(int how, const SignalMask* mask, SignalMask* before) noexcept {
  int saved = errno;
  int error = syscall(SYS_rt_sigprocmask, how, mask, before, sizeof(SignalMask)) == 0 ? 0 : errno;
  errno = saved;
  return error;
}

}  // namespace freehold::os
