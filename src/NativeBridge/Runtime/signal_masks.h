// Masks of signals, as programs see them. The signals of faults are never blocked in a thread that runs compiled code: a handle that uncompiled code
// uses is answered in a handler, and the kernel ends a process whose fault is blocked. What the program has blocked of them is remembered instead.
#pragma once

#include <signal.h>

#include <cstdint>

namespace freehold::bridge::signal_masks {

// Of the calling thread: unblocks the signals of faults, and remembers those that were blocked. Returns what was remembered before.
uint64_t unblock_faults() noexcept;
void remember(uint64_t signals) noexcept;

// All but those of faults; returns the mask that was.
sigset_t block_signals() noexcept;
class NoSignals {
 public:
  NoSignals() noexcept : before_(block_signals()) {}
  ~NoSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;

 private:
  sigset_t before_;
};

// sigprocmask for the program; returns 0, or what errno shall be.
int change(int how, const sigset_t* wanted, sigset_t* before) noexcept;

}  // namespace freehold::bridge::signal_masks
