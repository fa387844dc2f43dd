// With the barrier `mprotect` a thread that stores to a span that is being meshed gets SIGSEGV. If that is blocked, the kernel ends the process. So it is never blocked: not by the functions that
// change a mask, nor while a handler runs, nor by the mask that the program was started with (heap.cpp). What is left are masks by the bare system call, and the C library's own, around code that
// does not store to objects.
//
// No function is looked up here: the malloc itself blocks signals, with locks held.
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "Platform/system_call.h"
#include "heap.h"

#define EXPORTED extern "C" __attribute__((visibility("default")))

using namespace freehold::mesh;

extern "C" int __sigaction(int signal, const struct sigaction* action, struct sigaction* before) noexcept;

namespace {

constexpr uint64_t bit(int signal) noexcept { return uint64_t{1} << (signal - 1); }
// Those that the C library keeps for itself: its own functions leave them out too.
constexpr uint64_t kOfLibrary = bit(32) | bit(33);

bool stays_open() noexcept { return heap.barrier.kind() == BarrierKind::kMprotect; }

}  // namespace

// The kernel writes to variables here, so nothing is announced.
EXPORTED int pthread_sigmask(int how, const sigset_t* set, sigset_t* before) {
  uint64_t wanted = 0, old = 0;
  if (set != nullptr) {
    memcpy(&wanted, set, sizeof wanted);
    wanted &= ~kOfLibrary;
    if (how != SIG_UNBLOCK && stays_open()) wanted &= ~bit(SIGSEGV);
  }
  using freehold::os::argument;
  long result = freehold::os::system_call(SYS_rt_sigprocmask, how, set != nullptr ? argument(&wanted) : 0, argument(&old), sizeof old);
  if (freehold::os::is_error(result)) return static_cast<int>(-result);
  if (before != nullptr) {
    sigemptyset(before);
    memcpy(before, &old, sizeof old);
  }
  return 0;
}

EXPORTED int sigprocmask(int how, const sigset_t* set, sigset_t* before) {
  int error = pthread_sigmask(how, set, before);
  if (error == 0) return 0;
  errno = error;
  return -1;
}

EXPORTED int sigaction(int signal, const struct sigaction* action, struct sigaction* before) {
  if (action == nullptr || !stays_open()) return __sigaction(signal, action, before);
  struct sigaction room = *action;
  sigdelset(&room.sa_mask, SIGSEGV);
  return __sigaction(signal, &room, before);
}
