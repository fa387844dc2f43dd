// Calls that wait with another mask, and older ways to set one. With the barrier `mprotect` SIGSEGV must not be blocked (signal_masks.cpp): a handler that runs during such a wait has the mask of the
// wait, and may store to a span that is being meshed.
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>

#include "announcement.h"

using namespace freehold::mesh;

extern "C" int __sigaction(int signal, const struct sigaction* action, struct sigaction* before) noexcept;

namespace {

constexpr uint64_t kFault = uint64_t{1} << (SIGSEGV - 1);
constexpr int kOldFault = 1 << (SIGSEGV - 1);  // in the masks of BSD, which are numbers

bool stays_open() noexcept { return heap.barrier.kind() == BarrierKind::kMprotect; }

// A mask of the caller's, without SIGSEGV where that stays open. The kernel reads a word.
class OpenMask {
 public:
  explicit OpenMask(const void* mask) noexcept : mask_(mask) {
    if (mask == nullptr || !stays_open()) return;
    memcpy(&word_, mask, sizeof word_);
    if ((word_ & kFault) == 0) return;
    word_ &= ~kFault;
    memset(&copy_, 0, sizeof copy_);
    memcpy(&copy_, &word_, sizeof word_);
    mask_ = &copy_;
  }
  const void* get() const noexcept { return mask_; }

 private:
  const void* mask_;
  uint64_t word_ = 0;
  sigset_t copy_;
};

int without_fault(int mask) noexcept { return stays_open() ? mask & ~kOldFault : mask; }

}  // namespace

// A call that waits with the mask `m`, and which of its arguments the kernel writes to.
#define WAITING_CALL(name, parameters, arguments, ...) \
  NAMED(int, name, parameters) {                       \
    NEXT(int, name, parameters);                       \
    OpenMask open(m);                                  \
    m = open.get();                                    \
    Announcement announcement({__VA_ARGS__});          \
    announcement.publish();                            \
    return next arguments;                             \
  }

WAITING_CALL(sigsuspend, (const void* m), (m))
WAITING_CALL(__sigsuspend, (const void* m), (m))
WAITING_CALL(ppoll, (pollfd * p, nfds_t n, const void* t, const void* m), (p, n, t, m), p)
WAITING_CALL(__ppoll_chk, (pollfd * p, nfds_t n, const void* t, const void* m, size_t s), (p, n, t, m, s), p)
WAITING_CALL(pselect, (int n, void* r, void* w, void* x, const void* t, const void* m), (n, r, w, x, t, m), r, w, x)
WAITING_CALL(epoll_pwait, (int f, epoll_event* e, int n, int t, const void* m), (f, e, n, t, m), e)
WAITING_CALL(epoll_pwait2, (int f, epoll_event* e, int n, const void* t, const void* m), (f, e, n, t, m), e)

// The mask that a thread begins with.
WAITING_CALL(pthread_attr_setsigmask_np, (void* a, const void* m), (a, m))

NAMED(int, sigpause, (int mask)) {
  NEXT(int, sigpause, (int));
  return next(without_fault(mask));
}
NAMED(int, __sigpause, (int mask, int is_signal)) {
  NEXT(int, __sigpause, (int, int));
  return next(is_signal != 0 ? mask : without_fault(mask), is_signal);
}
NAMED(int, sigblock, (int mask)) {
  NEXT(int, sigblock, (int));
  return next(without_fault(mask));
}
NAMED(int, sigsetmask, (int mask)) {
  NEXT(int, sigsetmask, (int));
  return next(without_fault(mask));
}
NAMED(int, sighold, (int signal)) {
  NEXT(int, sighold, (int));
  return signal == SIGSEGV && stays_open() ? 0 : next(signal);
}
NAMED(void*, sigset, (int signal, void* handler)) {
  NEXT(void*, sigset, (int, void*));
  if (signal != SIGSEGV || handler != reinterpret_cast<void*>(SIG_HOLD) || !stays_open()) return next(signal, handler);
  struct sigaction now;
  return __sigaction(signal, nullptr, &now) == 0 ? reinterpret_cast<void*>(now.sa_handler) : reinterpret_cast<void*>(SIG_ERR);
}
