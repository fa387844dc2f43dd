// While it lives no handler of a signal interrupts the calling thread, but for faults: a handler may need a lock that the thread has.
#pragma once

#include <signal.h>

namespace freehold::mesh {

class NoSignals {
 public:
  NoSignals() noexcept {
    sigset_t wanted;
    sigfillset(&wanted);
    for (int fault : {SIGSEGV, SIGBUS, SIGTRAP, SIGILL, SIGFPE, SIGABRT}) sigdelset(&wanted, fault);
    pthread_sigmask(SIG_SETMASK, &wanted, &before_);
  }
  ~NoSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;

 private:
  sigset_t before_;
};

}  // namespace freehold::mesh
