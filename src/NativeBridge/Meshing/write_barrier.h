// Writers wait while a span is meshed: first nobody may write to it, then its live slots are copied, then its addresses name the copies.
//
//   userfaultfd   threads wait in the kernel, in their own code and in system calls alike
//   user          the userfaultfd that everybody is allowed: system calls would fail with EFAULT
//   mprotect      a handler of SIGSEGV waits; system calls would fail too
//
// So in the last two no span is meshed that a system call may write to: the interposed calls (system_calls.cpp) announce their arguments.
#pragma once

#include <signal.h>
#include <ucontext.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "knobs.h"
#include "os.h"
#include "thread_local_heap.h"

namespace freehold::mesh {

class MeshableArena;

class WriteBarrier {
 public:
  // kNone: nothing works here, or the kind that the knob asks for does not.
  BarrierKind open(BarrierKind wanted, const MeshableArena& arena) noexcept;
  void close() noexcept;  // for tests
  // In the child of a fork, which does not inherit a userfaultfd's ranges.
  void reopen() noexcept;
  BarrierKind kind() const noexcept { return kind_; }
  bool needs_announcements() const noexcept {
    return kind_ == BarrierKind::kUserMode || kind_ == BarrierKind::kMprotect || announces_always_.load(std::memory_order_relaxed);
  }
  // From now on with `userfaultfd` too. A batch may be going on that does not know yet.
  void announce_always() noexcept;

  int descriptor() const noexcept { return descriptor_; }

  // The mesher, one thread at a time, between these for a batch of spans. False: nothing may be meshed now.
  bool begin(ThreadLocalHeap* const* heaps, uint32_t count) noexcept;
  void end() noexcept;
  // Between begin and end. Nobody writes to the range after protect, or false. An announced range is refused.
  bool protect(void* start, size_t size) noexcept;
  // The range was mapped anew: its writers go on.
  void release(void* start, size_t size) noexcept;
  // The range was not mapped anew: it may be written to again, and its writers go on.
  void lift(void* start, size_t size) noexcept;

  // The other threads. Between announce and retract no span with one of the addresses is meshed. Signal-safe. `frame`: the address of the caller's frame, by which it is known what frames that
  // siglongjmp has left have announced.
  void announce(ThreadLocalHeap& heap, const void* const* addresses, uint32_t count, uintptr_t frame) noexcept;
  // The address stays announced until the thread has announced ThreadLocalHeap::kLasting more in this way.
  void announce_lastingly(ThreadLocalHeap& heap, const void* address) noexcept;
  static void retract(ThreadLocalHeap& heap, uint32_t count) noexcept;

 private:
  static bool answer_fault(int signal, siginfo_t* information, ucontext_t* context) noexcept;
  bool is_announced(const void* start, size_t size) const noexcept;
  void wait_for_batch() noexcept;

  static constexpr uint32_t kMaximalAnnounced = 1024;

  BarrierKind kind_ = BarrierKind::kNone;
  const MeshableArena* arena_ = nullptr;
  int descriptor_ = -1;
  std::atomic<bool> announces_always_{false};
  std::atomic<bool> asymmetric_{false};  // the mesher has membarrier, so that announcing threads need no fence
  // 1: a batch is going on. Written by the mesher; announcing threads read it after their announcement, the mesher reads announcements after it.
  std::atomic<uint32_t> meshing_{0};
  std::atomic<uint32_t> fence_{0};       // for a fence in a form that ThreadSanitizer knows
  std::atomic<uint64_t> generation_{0};  // protections so far: a fault of an earlier one is worth another attempt
  uint32_t announced_count_ = 0;
  uintptr_t announced_[kMaximalAnnounced] = {};
};

}  // namespace freehold::mesh
