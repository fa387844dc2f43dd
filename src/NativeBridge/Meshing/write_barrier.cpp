#include "write_barrier.h"

#include <signal.h>
#include <string.h>

#include "meshable_arena.h"

namespace freehold::mesh {
namespace {

WriteBarrier* handling;                   // whose handler is installed; set before it is
struct sigaction previous;                // the handler that was there before, which gets all faults that are not ours
thread_local constinit uintptr_t last_fault __attribute__((tls_model("initial-exec"))) = 0;
thread_local constinit uint64_t last_generation __attribute__((tls_model("initial-exec"))) = 0;

// As the kernel would have called it: its mask, once if it asked for that. We run on the alternate stack if there is one; who asked for none may still be there.
void pass_on(int signal, siginfo_t* information, void* context) noexcept {
  struct sigaction action = previous;
  bool has_information = (action.sa_flags & SA_SIGINFO) != 0;
  if (!has_information && action.sa_handler == SIG_IGN && information->si_code <= 0) return;
  if (!has_information && (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN)) {
    // Back to the instruction, which faults again, or the signal that was sent comes again: with the default action, and a core dump of the right place.
    struct sigaction fatal = {};
    fatal.sa_handler = SIG_DFL;
    sigaction(signal, &fatal, nullptr);
    if (information->si_code <= 0) raise(signal);
    return;
  }
  if ((action.sa_flags & static_cast<int>(SA_RESETHAND)) != 0) previous.sa_handler = SIG_DFL, previous.sa_flags &= ~SA_SIGINFO;
  sigset_t mask = action.sa_mask, before;
  if ((action.sa_flags & SA_NODEFER) == 0) sigaddset(&mask, signal);
  pthread_sigmask(SIG_BLOCK, &mask, &before);
  if (has_information) action.sa_sigaction(signal, information, context);
  else action.sa_handler(signal);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace

BarrierKind WriteBarrier::open(BarrierKind wanted, const MeshableArena& arena) noexcept {
  arena_ = &arena;
  kind_ = BarrierKind::kNone;
  bool any = wanted == BarrierKind::kAuto;
  if ((any || wanted == BarrierKind::kUserfaultfd) && (descriptor_ = os::open_userfaultfd(false)) >= 0) return kind_ = BarrierKind::kUserfaultfd;
  asymmetric_ = os::register_barrier();
  if ((any || wanted == BarrierKind::kUserMode) && (descriptor_ = os::open_userfaultfd(true)) >= 0) return kind_ = BarrierKind::kUserMode;
  if (!any && wanted != BarrierKind::kMprotect) return kind_;
  handling = this;
  struct sigaction action = {};
  action.sa_sigaction = reinterpret_cast<void (*)(int, siginfo_t*, void*)>(handle_fault);
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  if (handler_is_ours() || sigaction(SIGSEGV, &action, &previous) == 0) kind_ = BarrierKind::kMprotect;
  return kind_;
}

void WriteBarrier::close() noexcept {
  if (descriptor_ >= 0) os::close(descriptor_);
  descriptor_ = -1;
  if (kind_ == BarrierKind::kMprotect && handler_is_ours()) sigaction(SIGSEGV, &previous, nullptr);
  kind_ = BarrierKind::kNone;
}

void WriteBarrier::reopen() noexcept {
  meshing_.store(0, std::memory_order_relaxed);
  if (descriptor_ < 0) return;
  os::close(descriptor_);
  descriptor_ = os::open_userfaultfd(kind_ == BarrierKind::kUserMode);
  // Having dropped its rights, a process may have lost the better kind.
  if (descriptor_ < 0 && kind_ == BarrierKind::kUserfaultfd && (descriptor_ = os::open_userfaultfd(true)) >= 0) kind_ = BarrierKind::kUserMode;
  if (descriptor_ < 0) kind_ = BarrierKind::kNone;
  if (kind_ == BarrierKind::kUserMode) asymmetric_ = os::register_barrier();
}

// A program that installs a handler after us need not pass faults on to ours.
bool WriteBarrier::handler_is_ours() const noexcept {
  struct sigaction now;
  return sigaction(SIGSEGV, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) != 0 && reinterpret_cast<void*>(now.sa_sigaction) == reinterpret_cast<void*>(handle_fault);
}

void WriteBarrier::handle_fault(int signal, void* information, void* context) noexcept {
  auto* info = static_cast<siginfo_t*>(information);
  WriteBarrier& barrier = *handling;
  auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  if (info->si_code == SEGV_ACCERR && address - barrier.arena_->start() < barrier.arena_->meshable_size()) {
    // A fault of a protection that may be over by now: once more, after the batch.
    while (barrier.meshing_.load(std::memory_order_acquire) != 0) os::wait(&barrier.meshing_, 1);
    uint64_t generation = barrier.generation_.load(std::memory_order_acquire);
    if (address != last_fault || generation != last_generation) {
      last_fault = address;
      last_generation = generation;
      return;
    }
  }
  last_fault = 0;
  pass_on(signal, info, context);
}

bool WriteBarrier::begin(ThreadLocalHeap* const* heaps, uint32_t count) noexcept {
  if (kind_ == BarrierKind::kNone || (kind_ == BarrierKind::kMprotect && !handler_is_ours())) return false;
  if (!needs_announcements()) return true;
  meshing_.store(1, std::memory_order_seq_cst);
  if (asymmetric_ && !os::barrier_on_all_threads()) {
    end();
    return false;
  }
  announced_count_ = 0;
  for (uint32_t i = 0; i < count; i++) {
    uint32_t n = heaps[i]->announced_count.load(std::memory_order_acquire);
    if (n > ThreadLocalHeap::kAnnouncements || announced_count_ + n > kMaximalAnnounced) {
      end();
      return false;
    }
    for (uint32_t k = 0; k < n; k++) announced_[announced_count_++] = heaps[i]->announced[k].load(std::memory_order_relaxed);
  }
  return true;
}

void WriteBarrier::end() noexcept {
  if (!needs_announcements()) return;
  meshing_.store(0, std::memory_order_seq_cst);
  os::wake_all(&meshing_);
}

bool WriteBarrier::is_announced(const void* start, size_t size) const noexcept {
  auto first = reinterpret_cast<uintptr_t>(start);
  for (uint32_t i = 0; i < announced_count_; i++) {
    if (announced_[i] - first < size) return true;
  }
  return false;
}

bool WriteBarrier::protect(void* start, size_t size) noexcept {
  if (kind_ == BarrierKind::kMprotect) {
    if (is_announced(start, size)) return false;
    generation_.fetch_add(1, std::memory_order_acq_rel);
    return os::protect(start, size, false);
  }
  if (needs_announcements() && is_announced(start, size)) return false;
  if (!os::watch(descriptor_, start, size)) return false;
  if (os::write_protect(descriptor_, start, size, true)) return true;
  os::unwatch(descriptor_, start, size);
  return false;
}

void WriteBarrier::release(void* start, size_t size) noexcept {
  if (kind_ != BarrierKind::kMprotect) os::wake(descriptor_, start, size);
}

void WriteBarrier::lift(void* start, size_t size) noexcept {
  if (kind_ == BarrierKind::kMprotect) {
    if (!os::protect(start, size, true) && !os::protect(start, size, true)) os::fail_fast("the protection of a span can not be lifted", start);
    return;
  }
  os::write_protect(descriptor_, start, size, false);
  os::unwatch(descriptor_, start, size);
  os::wake(descriptor_, start, size);
}

void WriteBarrier::announce(ThreadLocalHeap& heap, const void* const* addresses, uint32_t count) noexcept {
  uint32_t before = heap.announced_count.load(std::memory_order_relaxed);
  // The count first: a handler that interrupts us announces behind ours. Until all is stored the mesher sees old addresses, which does no harm.
  heap.announced_count.store(before + count, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  for (uint32_t i = 0; i < count && before + i < ThreadLocalHeap::kAnnouncements; i++) {
    heap.announced[before + i].store(reinterpret_cast<uintptr_t>(addresses[i]), std::memory_order_relaxed);
  }
  if (asymmetric_) std::atomic_signal_fence(std::memory_order_seq_cst);
  else heap.announced_count.fetch_add(0, std::memory_order_seq_cst);  // a fence, in a form that ThreadSanitizer knows
  while (meshing_.load(std::memory_order_acquire) != 0) os::wait(&meshing_, 1);
}

void WriteBarrier::retract(ThreadLocalHeap& heap, uint32_t count) noexcept {
  heap.announced_count.store(heap.announced_count.load(std::memory_order_relaxed) - count, std::memory_order_release);
}

}  // namespace freehold::mesh
