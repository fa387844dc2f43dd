// Who calls these two: code that is linked into the program (--wrap, eng/README.md), and P/Invokes, which ask dlsym. What is left: shared libraries, which the linker
// binds to the C library (NativeAOT's programs export nothing), the bare system call, and masks that come back with siglongjmp or setcontext.
#include "runtime/signal_masks.h"

#include <dlfcn.h>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "core/knobs.h"
#include "heap/background_thread.h"
#include "os/meshing.h"
#include "os/signals.h"
#include "runtime/runtime_imports.h"

namespace freehold::runtime {

namespace {

using os::signal_bit;
using os::SignalMask;

constexpr SignalMask kFaults = signal_bit(SIGSEGV) | signal_bit(SIGBUS);
// By which the runtime stops a thread in the middle of its code. Where it is blocked, a stop waits for the next call that looks: a loop over stale references, each of
// which faults, has none, and held up all threads for minutes.
constexpr int kActivation = 34;  // SIGRTMIN of glibc, which is no constant
constexpr SignalMask kKept = kFaults | signal_bit(kActivation);
// Those that the C library keeps for itself: its own functions leave them out too.
constexpr SignalMask kOfLibrary = signal_bit(32) | signal_bit(33);

int change_mask_of_program(int how, const sigset_t* set, sigset_t* before) noexcept {
  SignalMask wanted = 0, old = 0;
  if (set != nullptr) {
    memcpy(&wanted, set, sizeof wanted);
    if (how != SIG_UNBLOCK) wanted &= ~kOfLibrary;
    if (how != SIG_UNBLOCK && (tls_CurrentThread.state & Thread::kAttached) != 0) wanted &= ~kKept;
  }
  int error = os::change_signal_mask(how, set != nullptr ? &wanted : nullptr, &old);
  if (error == 0 && before != nullptr) {
    sigemptyset(before);
    memcpy(before, &old, sizeof old);
  }
  return error;
}

}  // namespace

void unblock_faults() noexcept {
  SignalMask mask = kKept;
  if (core::knobs.stress.preempt != 0) mask |= signal_bit(heap::kPreemptionSignal);
  os::change_signal_mask(SIG_UNBLOCK, &mask, nullptr);
}

}  // namespace freehold::runtime

extern "C" {

void freehold_real_attach_thread(void* thread) asm("__real_" FREEHOLD_ATTACH_THREAD);
[[gnu::visibility("default")]] void freehold_attach_thread(void* thread) asm("__wrap_" FREEHOLD_ATTACH_THREAD);
void* __real_dlsym(void* library, const char* name);

void freehold_attach_thread(void* thread) {
  freehold::runtime::unblock_faults();
  freehold_real_attach_thread(thread);
}

[[gnu::visibility("default")]] int __wrap_pthread_sigmask(int how, const sigset_t* set, sigset_t* before) {
  return freehold::runtime::change_mask_of_program(how, set, before);
}

[[gnu::visibility("default")]] int __wrap_sigprocmask(int how, const sigset_t* set, sigset_t* before) {
  int error = freehold::runtime::change_mask_of_program(how, set, before);
  if (error == 0) return 0;
  errno = error;
  return -1;
}

[[gnu::visibility("default")]] void* __wrap_dlsym(void* library, const char* name) {
  void* found = __real_dlsym(library, name);
  if (found == nullptr || name == nullptr) return found;
  // A P/Invoke of the C library's free gets what the C library itself, and all other code of the program, calls: the program's.
  if (freehold::os::has_meshing_malloc() && library != RTLD_NEXT && library != RTLD_DEFAULT && found == __real_dlsym(RTLD_NEXT, name))
    found = __real_dlsym(RTLD_DEFAULT, name);
  if (strcmp(name, "pthread_sigmask") == 0) return reinterpret_cast<void*>(__wrap_pthread_sigmask);
  if (strcmp(name, "sigprocmask") == 0) return reinterpret_cast<void*>(__wrap_sigprocmask);
  return found;
}
}
