#include "write_barrier.h"

#include <signal.h>
#include <string.h>

#include "Platform/fault_dispatcher.h"
#include "knobs.h"
#include "meshable_arena.h"

namespace freehold::mesh {
namespace {

WriteBarrier* handling;  // whose faults these are; set before the owner is added
thread_local constinit uintptr_t last_fault __attribute__((tls_model("initial-exec"))) = 0;
thread_local constinit uint64_t last_generation __attribute__((tls_model("initial-exec"))) = 0;

freehold::os::FaultOwner owner;  // of the arena with spans

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
  owner = {freehold::os::fault_bit(SIGSEGV), answer_fault, arena.start(), arena.meshable_size()};
  // A managed heap asks for more stack than alternate ones have.
  if (freehold::os::add_fault_owner(owner, knobs.beside_managed_heap ? freehold::os::FaultStack::kAsBefore : freehold::os::FaultStack::kAlternate))
    kind_ = BarrierKind::kMprotect;
  return kind_;
}

void WriteBarrier::close() noexcept {
  if (descriptor_ >= 0) os::close(descriptor_);
  descriptor_ = -1;
  if (kind_ == BarrierKind::kMprotect) freehold::os::remove_fault_owner(owner);
  kind_ = BarrierKind::kNone;
}

void WriteBarrier::reopen() noexcept {
  meshing_.store(0, std::memory_order_relaxed);
  if (descriptor_ < 0) return;
  if (os::is_userfaultfd(descriptor_)) os::close(descriptor_);
  descriptor_ = os::open_userfaultfd(kind_ == BarrierKind::kUserMode);
  // Having dropped its rights, a process may have lost the better kind.
  if (descriptor_ < 0 && kind_ == BarrierKind::kUserfaultfd && (descriptor_ = os::open_userfaultfd(true)) >= 0) kind_ = BarrierKind::kUserMode;
  if (descriptor_ < 0) kind_ = BarrierKind::kNone;
  if (kind_ == BarrierKind::kUserMode) asymmetric_ = os::register_barrier();
}

bool WriteBarrier::answer_fault(int, siginfo_t* information, ucontext_t*) noexcept {
  WriteBarrier& barrier = *handling;
  auto address = reinterpret_cast<uintptr_t>(information->si_addr);
  if (information->si_code == SEGV_ACCERR) {
    // A fault of a protection that may be over by now: once more, after the batch.
    while (barrier.meshing_.load(std::memory_order_acquire) != 0) os::wait_on(barrier.meshing_, 1);
    uint64_t generation = barrier.generation_.load(std::memory_order_acquire);
    if (address != last_fault || generation != last_generation) {
      last_fault = address;
      last_generation = generation;
      return true;
    }
  }
  last_fault = 0;
  return false;
}

bool WriteBarrier::begin(ThreadLocalHeap* const* heaps, uint32_t count) noexcept {
  // A program that installs a handler after us need not pass faults on to ours.
  if (kind_ == BarrierKind::kNone || (kind_ == BarrierKind::kMprotect && !freehold::os::receives_faults(SIGSEGV))) return false;
  if (!needs_announcements()) return true;
  meshing_.store(1, std::memory_order_seq_cst);
  if (asymmetric_ && !os::barrier_on_all_threads()) {
    end();
    return false;
  }
  announced_count_ = 0;
  for (uint32_t i = 0; i < count; i++) {
    uint32_t n = heaps[i]->announced_count.load(std::memory_order_acquire);
    if (n > ThreadLocalHeap::kAnnouncements || announced_count_ + n + ThreadLocalHeap::kLasting > kMaximalAnnounced) {
      end();
      return false;
    }
    for (uint32_t k = 0; k < n; k++) announced_[announced_count_++] = heaps[i]->announced[k].load(std::memory_order_relaxed);
    for (const auto& lasting : heaps[i]->lasting) {
      uintptr_t address = lasting.load(std::memory_order_relaxed);
      if (address != 0 && announced_count_ < kMaximalAnnounced) announced_[announced_count_++] = address;
    }
  }
  return true;
}

void WriteBarrier::end() noexcept {
  if (!needs_announcements()) return;
  meshing_.store(0, std::memory_order_seq_cst);
  os::wake_all(meshing_);
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

namespace {

// Entries of frames below this one on its stack: a handler has left them by siglongjmp. Looked for when there are more than a thread ever has at once, but not by a handler on a stack of its own,
// whose place says nothing. What lies far away may be on another stack.
uint32_t drop_left_frames(const ThreadLocalHeap& heap, uint32_t count, uintptr_t frame) noexcept {
  constexpr uintptr_t kNear = uintptr_t{8} << 20;
  if (os::may_be_on_alternate_stack()) return count;
  while (count > 0) {
    uint32_t last = count < ThreadLocalHeap::kAnnouncements ? count : ThreadLocalHeap::kAnnouncements;
    uintptr_t other = heap.announcing_frame[last - 1];
    if (other > frame || frame - other > kNear) break;
    count = last - 1;
  }
  return count;
}

}  // namespace

void WriteBarrier::announce_always() noexcept {
  if (kind_ == BarrierKind::kNone || needs_announcements()) return;
  asymmetric_ = os::register_barrier();
  announces_always_ = true;
}

void WriteBarrier::wait_for_batch() noexcept {
  if (asymmetric_.load(std::memory_order_relaxed)) std::atomic_signal_fence(std::memory_order_seq_cst);
  else fence_.fetch_add(0, std::memory_order_seq_cst);
  while (meshing_.load(std::memory_order_acquire) != 0) os::wait_on(meshing_, 1);
}

void WriteBarrier::announce_lastingly(ThreadLocalHeap& heap, const void* address) noexcept {
  heap.lasting[heap.next_lasting++ % ThreadLocalHeap::kLasting].store(reinterpret_cast<uintptr_t>(address), std::memory_order_relaxed);
  wait_for_batch();
}

void WriteBarrier::announce(ThreadLocalHeap& heap, const void* const* addresses, uint32_t count, uintptr_t frame) noexcept {
  constexpr uint32_t kSuspicious = 24;
  uint32_t before = heap.announced_count.load(std::memory_order_relaxed);
  if (before >= kSuspicious) before = drop_left_frames(heap, before, frame);
  // The count first: a handler that interrupts us announces behind ours. Until all is stored the mesher sees old addresses, which does no harm.
  heap.announced_count.store(before + count, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  for (uint32_t i = 0; i < count && before + i < ThreadLocalHeap::kAnnouncements; i++) {
    heap.announced[before + i].store(reinterpret_cast<uintptr_t>(addresses[i]), std::memory_order_relaxed);
    heap.announcing_frame[before + i] = frame;
  }
  wait_for_batch();
}

void WriteBarrier::retract(ThreadLocalHeap& heap, uint32_t count) noexcept {
  heap.announced_count.store(heap.announced_count.load(std::memory_order_relaxed) - count, std::memory_order_release);
}

}  // namespace freehold::mesh
