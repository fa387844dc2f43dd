// Handlers of signals. One may interrupt compiled code anywhere, while it holds addresses that no record names: until the handler returns, the
// thread must not be stopped. So compiled code installs handlers through here, and a dispatcher notes what was interrupted.
#include <errno.h>
#include <signal.h>
#include <ucontext.h>

#include <atomic>

#include "faults.h"
#include "handle_table.h"
#include "runtime.h"
#include "signal_masks.h"
#include "threads.h"

using namespace freehold::bridge;

namespace {

// The program's handlers, by signal. Written by sigaction, read by the dispatcher, one word each.
std::atomic<void*> handlers[_NSIG];

template <typename T>
T* address(T* pointer) noexcept {
  return reinterpret_cast<T*>(HandleTable::translate(reinterpret_cast<uint64_t>(pointer)));
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

}  // namespace

extern "C" {

int __freehold_sigaction(int signal, const struct sigaction* action, struct sigaction* before) {
  if (signal <= 0 || signal >= _NSIG) {
    errno = EINVAL;
    return -1;
  }
  struct sigaction wanted{}, old{};
  void* old_handler = handlers[signal].load(std::memory_order_acquire);
  if (action != nullptr) {
    wanted = *address(action);
    if (is_function(wanted.sa_handler)) {
      handlers[signal].store(reinterpret_cast<void*>(wanted.sa_handler), std::memory_order_release);
      wanted.sa_sigaction = dispatch;
      wanted.sa_flags |= SA_SIGINFO;
    }
  }
  if (signal == SIGSEGV || signal == SIGBUS || signal == SIGTRAP) {
    faults::set_program_handler(signal, action != nullptr ? &wanted : nullptr, &old);
  } else if (sigaction(signal, action != nullptr ? &wanted : nullptr, &old) != 0) {
    return -1;
  }
  if (before != nullptr) {
    if (old.sa_sigaction == dispatch) old.sa_handler = reinterpret_cast<void (*)(int)>(old_handler);
    *address(before) = old;
  }
  return 0;
}

void (*__freehold_signal(int signal, void (*handler)(int)))(int) {
  struct sigaction wanted{}, old{};
  wanted.sa_handler = handler;
  wanted.sa_flags = SA_RESTART;
  return __freehold_sigaction(signal, &wanted, &old) != 0 ? SIG_ERR : old.sa_handler;
}

// What signal is where strict ISO C or X/Open is asked for: the handler is there for one signal.
void (*__freehold_sysv_signal(int signal, void (*handler)(int)))(int) {
  struct sigaction wanted{}, old{};
  wanted.sa_handler = handler;
  wanted.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER);
  return __freehold_sigaction(signal, &wanted, &old) != 0 ? SIG_ERR : old.sa_handler;
}

}  // extern "C"
