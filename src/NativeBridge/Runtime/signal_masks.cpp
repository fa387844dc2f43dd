#include "signal_masks.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "faults.h"
#include "out_call.h"

namespace freehold::bridge::signal_masks {

namespace {

constexpr uint64_t bit(int signal) noexcept { return uint64_t{1} << (signal - 1); }
constexpr uint64_t kFaults = bit(SIGSEGV) | bit(SIGBUS) | bit(SIGTRAP);
// Those that the C library keeps for itself: its own functions leave them out too.
constexpr uint64_t kOfLibrary = bit(32) | bit(33);

// The program's: of these signals, the ones that it has blocked.
thread_local uint64_t remembered __attribute__((tls_model("initial-exec"))) = 0;

int change_real(int how, const uint64_t* wanted, uint64_t* before) noexcept {
  int saved = errno;
  int error = syscall(SYS_rt_sigprocmask, how, wanted, before, sizeof *before) == 0 ? 0 : errno;
  errno = saved;
  return error;
}

}  // namespace

uint64_t unblock_faults() noexcept {
  uint64_t old = remembered, before = 0;
  change_real(SIG_UNBLOCK, &kFaults, &before);
  remembered = old | (before & kFaults);
  return old;
}

sigset_t block_signals() noexcept {
  sigset_t wanted, before;
  faults::fill_but_faults(wanted);
  pthread_sigmask(SIG_SETMASK, &wanted, &before);
  return before;
}

void remember(uint64_t signals) noexcept { remembered = signals; }

int change(int how, const sigset_t* wanted, sigset_t* before) noexcept {
  uint64_t mask = 0, old = 0, faults = remembered;
  if (wanted != nullptr) {
    memcpy(&mask, wanted, sizeof mask);
    if (how == SIG_BLOCK) faults |= mask & kFaults;
    if (how == SIG_UNBLOCK) faults &= ~mask;
    if (how == SIG_SETMASK) faults = mask & kFaults;
    if (how != SIG_UNBLOCK) mask &= ~(kOfLibrary | kFaults);
  }
  int error = change_real(how, wanted != nullptr ? &mask : nullptr, &old);
  if (error != 0) return error;
  old |= remembered;
  remembered = faults;
  if (before != nullptr) {
    sigemptyset(before);
    memcpy(before, &old, sizeof old);
  }
  return 0;
}

}  // namespace freehold::bridge::signal_masks

using namespace freehold::bridge;

extern "C" {

int __freehold_pthread_sigmask(int how, const sigset_t* wanted, sigset_t* before) { return signal_masks::change(how, address(wanted), address(before)); }

int __freehold_sigprocmask(int how, const sigset_t* wanted, sigset_t* before) {
  int error = signal_masks::change(how, address(wanted), address(before));
  if (error == 0) return 0;
  errno = error;
  return -1;
}

}  // extern "C"
