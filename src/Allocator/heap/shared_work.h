// Work that many threads may want at the same moment, and that is worth doing once: thorough maintenance, when all of them have met the limit. It is enough for a thread that the work begins after the
// thread has found that it is needed, whoever does it.
#pragma once

#include <atomic>
#include <cstdint>
#include <new>

#include "Platform/lock.h"

namespace freehold::heap {

class SharedWork {
 public:
  // How often it has begun. Read when it is found to be needed; what the caller has done until then is seen by whoever begins later.
  uint64_t begun() const noexcept {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    return begun_.load(std::memory_order_seq_cst);
  }

  // Does it, if is_needed() says so once nobody else does it. Where stops need not wait for the caller. True: this thread has done it.
  template <typename Condition, typename Work>
  bool if_needed(Condition is_needed, Work work) noexcept {
    os::LockGuard guard(lock_);
    if (!is_needed()) return false;
    begun_.fetch_add(1, std::memory_order_seq_cst);
    work();
    return true;
  }
  // The same, unless somebody has begun it since begun() was `seen`.
  template <typename Work>
  bool once_since(uint64_t seen, Work work) noexcept {
    return if_needed([this, seen]() noexcept { return begun_.load(std::memory_order_relaxed) == seen; }, work);
  }

  // In the child of a fork: who does it is not here.
  void forget() noexcept { new (&lock_) os::Lock(); }

 private:
  os::Lock lock_;  // whoever has it does the work
  std::atomic<uint64_t> begun_{0};
};

}  // namespace freehold::heap
