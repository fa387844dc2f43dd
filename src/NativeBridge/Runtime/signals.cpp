// Handlers of signals. One may interrupt compiled code anywhere, while it holds addresses that no record names: until the handler returns, the
// thread must not be stopped. So all code of the process installs handlers through here, and a dispatcher notes what was interrupted: a handler that
// was not compiled with handles may call code that was.
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <ucontext.h>

#include <atomic>

#include "faults.h"
#include "handle_table.h"
#include "runtime.h"
#include "signal_masks.h"
#include "signals.h"
#include "threads.h"

using namespace freehold::bridge;

namespace {

using Sigaction = int (*)(int, const struct sigaction*, struct sigaction*);

// The program's handlers, by signal. Written by sigaction, read by the dispatcher, one word each.
std::atomic<void*> handlers[_NSIG];
std::atomic<bool> wants_information[_NSIG];  // SA_SIGINFO, as the program has set it
std::atomic<Sigaction> real_sigaction{nullptr};

template <typename T>
T* address(T* pointer) noexcept {
  return reinterpret_cast<T*>(HandleTable::translate(reinterpret_cast<uint64_t>(pointer)));
}

// The C library's, or that of a library which stands between.
Sigaction next_sigaction() noexcept {
  Sigaction next = real_sigaction.load(std::memory_order_relaxed);
  if (next != nullptr) return next;
  next = reinterpret_cast<Sigaction>(dlsym(RTLD_NEXT, "sigaction"));
  real_sigaction.store(next, std::memory_order_relaxed);
  return next;
}

// The kernel takes the mask back when the handler returns.
struct Remembered {
  uint64_t before = signal_masks::unblock_faults();
  ~Remembered() { signal_masks::remember(before); }
};

void dispatch(int signal, siginfo_t* information, void* context) {
  auto* handler = reinterpret_cast<void (*)(int, siginfo_t*, void*)>(handlers[signal].load(std::memory_order_acquire));
  // The handler's own mask, or the one that it was waited with, may block them.
  Remembered mask;
  threads::InHandler noted;
  Thread* thread = threads::known();
  if (thread == nullptr || threads::is_outside(*thread)) return handler(signal, information, context);
  if (thread->entering != 0) {
    // It waits for the end of a stop, or would have to: what moves may move.
    threads::leave(*thread);
    handler(signal, information, context);
    return threads::enter(*thread);
  }
  threads::begin_handler(*thread, static_cast<uintptr_t>(static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RSP]));
  handler(signal, information, context);
  threads::end_handler(*thread);
}

bool is_function(void (*handler)(int)) noexcept { return handler != SIG_DFL && handler != SIG_IGN && handler != SIG_ERR; }
bool is_fault(int signal) noexcept { return signal == SIGSEGV || signal == SIGBUS || signal == SIGTRAP; }

// `before_ours`: of the signals of faults the handler gets what is not ours. Otherwise it is put over the dispatcher of faults, as any handler is that chains
// to the one before.
int set_handler(int signal, const struct sigaction* action, struct sigaction* before, bool before_ours) noexcept {
  if (signal <= 0 || signal >= _NSIG) {
    errno = EINVAL;
    return -1;
  }
  if (is_fault(signal) && !before_ours) return next_sigaction()(signal, action, before);
  struct sigaction wanted{}, old{};
  void* old_handler = handlers[signal].load(std::memory_order_acquire);
  bool old_wants = wants_information[signal].load(std::memory_order_relaxed);
  if (action != nullptr) {
    wanted = *action;
    if (is_function(wanted.sa_handler)) {
      wants_information[signal].store((wanted.sa_flags & SA_SIGINFO) != 0, std::memory_order_relaxed);
      handlers[signal].store(reinterpret_cast<void*>(wanted.sa_handler), std::memory_order_release);
      wanted.sa_sigaction = dispatch;
      wanted.sa_flags |= SA_SIGINFO;
    }
  }
  if (is_fault(signal)) {
    faults::set_program_handler(signal, action != nullptr ? &wanted : nullptr, &old);
  } else if (next_sigaction()(signal, action != nullptr ? &wanted : nullptr, &old) != 0) {
    wants_information[signal].store(old_wants, std::memory_order_relaxed);
    handlers[signal].store(old_handler, std::memory_order_release);
    return -1;
  }
  if (before == nullptr) return 0;
  if (old.sa_sigaction == dispatch) {
    old.sa_handler = reinterpret_cast<void (*)(int)>(old_handler);
    if (!old_wants) old.sa_flags &= ~SA_SIGINFO;
  }
  *before = old;
  return 0;
}

// What signal does: the system's, or that of strict ISO C and X/Open, whose handler is there for one signal.
constexpr int kLasting = SA_RESTART, kOnce = static_cast<int>(SA_RESETHAND | SA_NODEFER);
using Handler = void (*)(int);
Handler set_plain_handler(int signal, Handler handler, int flags, bool before_ours) noexcept {
  struct sigaction wanted{}, old{};
  wanted.sa_handler = handler;
  wanted.sa_flags = flags;
  return set_handler(signal, &wanted, &old, before_ours) != 0 ? SIG_ERR : old.sa_handler;
}

// X/Open's: SIG_HOLD blocks the signal, everything else lets it through.
Handler set_and_unblock(int signal, Handler handler, bool before_ours) noexcept {
  sigset_t one, mask;
  if (sigemptyset(&one) != 0 || sigaddset(&one, signal) != 0) return SIG_ERR;
  struct sigaction wanted{}, old{};
  wanted.sa_handler = handler;
  if (set_handler(signal, handler != SIG_HOLD ? &wanted : nullptr, &old, before_ours) != 0) return SIG_ERR;
  signal_masks::change(handler == SIG_HOLD ? SIG_BLOCK : SIG_UNBLOCK, &one, &mask);
  return sigismember(&mask, signal) == 1 ? SIG_HOLD : old.sa_handler;
}

}  // namespace

void freehold::bridge::resolve_signals() noexcept { next_sigaction(); }

extern "C" {

int __freehold_sigaction(int signal, const struct sigaction* action, struct sigaction* before) {
  return set_handler(signal, address(action), address(before), true);
}
Handler __freehold_signal(int signal, Handler handler) { return set_plain_handler(signal, handler, kLasting, true); }
Handler __freehold_sysv_signal(int signal, Handler handler) { return set_plain_handler(signal, handler, kOnce, true); }
Handler __freehold_sigset(int signal, Handler handler) { return set_and_unblock(signal, handler, true); }

// For code that was not compiled with handles.
#define FREEHOLD_SHOWN __attribute__((visibility("default")))
FREEHOLD_SHOWN int sigaction(int signal, const struct sigaction* action, struct sigaction* before) noexcept {
  return set_handler(signal, action, before, false);
}
FREEHOLD_SHOWN Handler signal(int number, Handler handler) noexcept { return set_plain_handler(number, handler, kLasting, false); }
FREEHOLD_SHOWN Handler bsd_signal(int number, Handler handler) noexcept { return set_plain_handler(number, handler, kLasting, false); }
FREEHOLD_SHOWN Handler ssignal(int number, Handler handler) noexcept { return set_plain_handler(number, handler, kLasting, false); }
FREEHOLD_SHOWN Handler sysv_signal(int number, Handler handler) noexcept { return set_plain_handler(number, handler, kOnce, false); }
FREEHOLD_SHOWN Handler __sysv_signal(int number, Handler handler) noexcept { return set_plain_handler(number, handler, kOnce, false); }
FREEHOLD_SHOWN Handler sigset(int number, Handler handler) noexcept { return set_and_unblock(number, handler, false); }
#undef FREEHOLD_SHOWN

}  // extern "C"
