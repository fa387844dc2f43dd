#include "Platform/fault_dispatcher.h"

#include <errno.h>

#include <atomic>

#include "Platform/one_for_all.h"
#include "Platform/process_page.h"

namespace freehold::os {

constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGTRAP};
constexpr unsigned kSignalCount = 3, kOwners = 8;
// How often it can be installed for a signal. Twice is usual: by the first malloc, and again over the handler of the .NET runtime, which chains to the first.
constexpr unsigned kLevels = 4;

// Written with the lock held, read by handlers.
struct FaultDispatcher {
  std::atomic<uint32_t> lock;
  std::atomic<const FaultOwner*> owners[kOwners];
  std::atomic<unsigned> levels[kSignalCount];  // in use
  // The handler that each level's handler was put over. Before that installation; later by exchange_foreign_handler, and where the handler is for one use only.
  struct sigaction previous[kSignalCount][kLevels];
};
extern FaultDispatcher fault_dispatcher;
FREEHOLD_ONE_FOR_ALL constinit FaultDispatcher fault_dispatcher = {};

void dispatch_fault(unsigned level, int signal, siginfo_t* information, void* context) noexcept;

namespace {

// The signal whose owners were asked by this thread, while the foreign handler runs: that one may call a lower level of ours, which then does not ask again. A handler that does not return
// (siglongjmp) leaves this behind, and the next signal may have the same address; but it comes to the same level first.
struct Asked {
  const siginfo_t* information;
  unsigned level;
};
thread_local constinit Asked asked __attribute__((tls_model("initial-exec"))) = {nullptr, 0};

template <unsigned level>
void handle(int signal, siginfo_t* information, void* context) noexcept {
  dispatch_fault(level, signal, information, context);
}
using Handler = void (*)(int, siginfo_t*, void*);
constexpr Handler kHandlers[kLevels] = {handle<0>, handle<1>, handle<2>, handle<3>};

int index_of(int signal) noexcept {
  for (unsigned i = 0; i < kSignalCount; i++) {
    if (kSignals[i] == signal) return static_cast<int>(i);
  }
  return -1;
}

bool is_ours(const struct sigaction& action) noexcept {
  if ((action.sa_flags & SA_SIGINFO) == 0) return false;
  for (Handler handler : kHandlers) {
    if (action.sa_sigaction == handler) return true;
  }
  return false;
}

class Guard {
 public:
  Guard() noexcept {
    while (fault_dispatcher.lock.exchange(1, std::memory_order_acquire) != 0) __builtin_ia32_pause();
  }
  ~Guard() { fault_dispatcher.lock.store(0, std::memory_order_release); }
};

uintptr_t address_of(const struct sigaction& action) noexcept {
  return (action.sa_flags & SA_SIGINFO) != 0 ? reinterpret_cast<uintptr_t>(action.sa_sigaction) : 0;
}

// For the other copies of this file in the process.
void note_level(int signal, uintptr_t handler, struct sigaction& previous) noexcept {
  ProcessPage& page = process_page();
  LockGuard guard(page.lock);
  for (FaultLevel& level : page.fault_levels) {
    uintptr_t other = level.handler.load(std::memory_order_relaxed);
    if (other != 0 && (other != handler || level.signal.load(std::memory_order_relaxed) != signal)) continue;
    level.signal.store(signal, std::memory_order_relaxed);
    level.previous.store(&previous, std::memory_order_relaxed);
    level.handler.store(handler, std::memory_order_release);
    return;
  }
}

// What a handler passes on to that this copy or another one has installed; null: it is of none.
struct sigaction* passes_on_to(int signal, uintptr_t handler) noexcept {
  for (const FaultLevel& level : process_page().fault_levels) {
    if (handler != 0 && level.handler.load(std::memory_order_acquire) == handler && level.signal.load(std::memory_order_relaxed) == signal)
      return level.previous.load(std::memory_order_relaxed);
  }
  return nullptr;
}

bool is_ours(uintptr_t handler) noexcept {
  for (Handler one : kHandlers) {
    if (handler == reinterpret_cast<uintptr_t>(one)) return true;
  }
  return false;
}

// With the lock.
bool install(unsigned index, FaultStack stack) noexcept {
  struct sigaction now;
  if (sigaction(kSignals[index], nullptr, &now) != 0) return false;
  if (is_ours(now)) return true;
  unsigned level = fault_dispatcher.levels[index].load(std::memory_order_relaxed);
  if (level == kLevels) return false;
  fault_dispatcher.previous[index][level] = now;
  struct sigaction action = {};
  action.sa_sigaction = kHandlers[level];
  // Not deferred: owners read memory whose faults they answer themselves.
  action.sa_flags = SA_SIGINFO | SA_RESTART | SA_NODEFER | (stack == FaultStack::kAlternate ? SA_ONSTACK : now.sa_flags & SA_ONSTACK);
  sigemptyset(&action.sa_mask);
  fault_dispatcher.levels[index].store(level + 1, std::memory_order_release);
  note_level(kSignals[index], address_of(action), fault_dispatcher.previous[index][level]);
  return sigaction(kSignals[index], &action, nullptr) == 0;
}

// What would have happened without us.
void pass_on(struct sigaction& previous, int signal, siginfo_t* information, void* context) noexcept {
  struct sigaction action = previous;
  bool has_information = (action.sa_flags & SA_SIGINFO) != 0, sent = information->si_code <= 0;
  if (!has_information && action.sa_handler == SIG_IGN && sent) return;
  if (!has_information && (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN)) {
    // Back to the instruction, which faults again, or the signal that was sent comes again: with the default action, and a core dump of the right place.
    struct sigaction standard = {};
    standard.sa_handler = SIG_DFL;
    sigaction(signal, &standard, nullptr);
    if (sent || signal == SIGTRAP) raise(signal);
    return;
  }
  if ((action.sa_flags & static_cast<int>(SA_RESETHAND)) != 0) {
    previous.sa_handler = SIG_DFL;
    previous.sa_flags &= ~SA_SIGINFO;
  }
  sigset_t mask = action.sa_mask;
  if ((action.sa_flags & SA_NODEFER) == 0) sigaddset(&mask, signal);
  pthread_sigmask(SIG_BLOCK, &mask, nullptr);  // the return from our handler restores it
  if (has_information) action.sa_sigaction(signal, information, context);
  else action.sa_handler(signal);
}

bool ask(bool ranges, int signal, siginfo_t* information, ucontext_t* context) noexcept {
  auto address = reinterpret_cast<uintptr_t>(information->si_addr);
  for (const std::atomic<const FaultOwner*>& entry : fault_dispatcher.owners) {
    const FaultOwner* owner = entry.load(std::memory_order_acquire);
    if (owner == nullptr || (owner->signals & fault_bit(signal)) == 0 || ranges != (owner->size != 0)) continue;
    if (ranges && address - owner->start >= owner->size) continue;
    if (owner->answer(signal, information, context)) return true;
  }
  return false;
}

}  // namespace

FREEHOLD_ONE_FOR_ALL void dispatch_fault(unsigned level, int signal, siginfo_t* information, void* context) noexcept {
  int saved = errno;
  bool answered = false;
  if (information->si_code > 0 && !(asked.information == information && level < asked.level)) {
    auto* machine = static_cast<ucontext_t*>(context);
    answered = ask(true, signal, information, machine) || ask(false, signal, information, machine);
  }
  errno = saved;
  if (answered) return;
  Asked before = asked;
  asked = {information, level};
  pass_on(fault_dispatcher.previous[index_of(signal)][level], signal, information, context);
  asked = before;
  errno = saved;
}

FREEHOLD_ONE_FOR_ALL bool add_fault_owner(const FaultOwner& owner, FaultStack stack) noexcept {
  Guard guard;
  std::atomic<const FaultOwner*>* unused = nullptr;
  bool known = false;
  for (std::atomic<const FaultOwner*>& entry : fault_dispatcher.owners) {
    const FaultOwner* other = entry.load(std::memory_order_relaxed);
    if (other == &owner) known = true;
    if (other == nullptr && unused == nullptr) unused = &entry;
  }
  if (!known && unused == nullptr) return false;
  if (!known) unused->store(&owner, std::memory_order_release);
  for (unsigned i = 0; i < kSignalCount; i++) {
    if ((owner.signals & fault_bit(kSignals[i])) == 0 || install(i, stack)) continue;
    if (!known) unused->store(nullptr, std::memory_order_release);
    return false;
  }
  return true;
}

FREEHOLD_ONE_FOR_ALL void remove_fault_owner(const FaultOwner& owner) noexcept {
  Guard guard;
  uint32_t needed = 0;
  for (std::atomic<const FaultOwner*>& entry : fault_dispatcher.owners) {
    const FaultOwner* other = entry.load(std::memory_order_relaxed);
    if (other == &owner) entry.store(nullptr, std::memory_order_release);
    else if (other != nullptr) needed |= other->signals;
  }
  for (unsigned i = 0; i < kSignalCount; i++) {
    unsigned level = fault_dispatcher.levels[i].load(std::memory_order_relaxed);
    struct sigaction now;
    if ((needed & fault_bit(kSignals[i])) != 0 || level == 0 || sigaction(kSignals[i], nullptr, &now) != 0) continue;
    if ((now.sa_flags & SA_SIGINFO) == 0 || now.sa_sigaction != kHandlers[level - 1]) continue;
    sigaction(kSignals[i], &fault_dispatcher.previous[i][level - 1], nullptr);
    fault_dispatcher.levels[i].store(level - 1, std::memory_order_release);
  }
}

FREEHOLD_ONE_FOR_ALL bool receives_faults(int signal) noexcept {
  struct sigaction now;
  if (sigaction(signal, nullptr, &now) != 0) return false;
  // Another copy's handler may lie over ours: that of a library of handles, which is loaded later.
  const struct sigaction* action = &now;
  for (unsigned i = 0; i < ProcessPage::kFaultLevels && action != nullptr; i++, action = passes_on_to(signal, address_of(*action))) {
    if (is_ours(address_of(*action))) return true;
  }
  return false;
}

FREEHOLD_ONE_FOR_ALL bool exchange_foreign_handler(int signal, const struct sigaction* action, struct sigaction* before) noexcept {
  Guard guard;
  int index = index_of(signal);
  unsigned level = index >= 0 ? fault_dispatcher.levels[index].load(std::memory_order_relaxed) : 0;
  if (level == 0) return false;
  struct sigaction* previous = &fault_dispatcher.previous[index][level - 1];
  // Another copy's handler is not foreign: what it passes on to is.
  for (unsigned i = 0; i < ProcessPage::kFaultLevels; i++) {
    struct sigaction* next = passes_on_to(signal, address_of(*previous));
    if (next == nullptr) break;
    previous = next;
  }
  if (before != nullptr) *before = *previous;
  if (action != nullptr) *previous = *action;
  return true;
}

}  // namespace freehold::os
