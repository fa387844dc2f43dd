// What is marked and not scanned yet, where markers share it: packets of objects (Ossia et al., A Parallel, Incremental and Concurrent GC for Servers, PLDI 2002), as many as there is room for. Each
// marker has a small stack of its own; it gives a packet where that is full, or others have nothing, and takes one when it is empty.
//
// One marker, the *first*, stays from the beginning to the end; the *helpers* come and go. A helper works from the moment that it takes a packet until it finds its stack empty and no packet there.
// So who gives works, or is the first; and when the first finds no packet, and no helper at work, under the lock, none is left, nor can come. That is the end.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "Platform/lock.h"
#include "os/growing_memory.h"

namespace freehold::heap {

class MarkPackets {
 public:
  static constexpr size_t kItems = 512;
  static constexpr size_t kPacketsAtMost = size_t{1} << 11;  // a million objects

  constexpr MarkPackets() noexcept : memory_(kPacketsAtMost * kBytes, kStep) {}
  MarkPackets(const MarkPackets&) = delete;
  MarkPackets& operator=(const MarkPackets&) = delete;

  // With no helper at work. At most so many packets from now on.
  void begin(size_t packets) noexcept;
  // Gives the memory back; with no helper at work.
  void release() noexcept;

  // Up to kItems of them. False: there is no room, or no memory.
  bool give(const uintptr_t* items, size_t count) noexcept;
  // Whether a helper has nothing to do, and there is no packet for it. A hint.
  bool are_wanted() const noexcept { return spare_.load(std::memory_order_relaxed) > 0; }

  // For the first: how many there are in the packet taken, 0 if there is none. `ended`: and no helper works.
  size_t take(uintptr_t* items, bool* ended) noexcept;
  // The same; where there is no packet, but a helper at work, it waits. 0: that was the end.
  size_t take_or_wait(uintptr_t* items) noexcept;

  // For a helper: waits for a packet, and works from then on.
  size_t join(uintptr_t* items) noexcept;
  // It has nothing left. 0: there is no packet, and it works no more.
  size_t take_or_leave(uintptr_t* items) noexcept;

  // For the first: the packets go, helpers forget what they have, and none works any more.
  void abandon() noexcept;
  bool is_abandoned() const noexcept { return abandoned_.load(std::memory_order_relaxed); }

  // In the child of a fork, which has no helpers.
  void forget_helpers() noexcept;

 private:
  static constexpr size_t kBytes = kItems * sizeof(uintptr_t), kStep = size_t{1} << 16;

  uintptr_t* items_of(size_t packet) noexcept { return reinterpret_cast<uintptr_t*>(memory_.start()) + packet * kItems; }
  size_t take_locked(uintptr_t* items) noexcept;
  void count_spare() noexcept;
  void wake(bool all) noexcept;

  os::Lock lock_;  // of what follows; held for the copy of a packet at most
  os::GrowingMemory memory_;
  uint16_t counts_[kPacketsAtMost] = {};
  size_t full_ = 0, at_most_ = 0;  // the packets are a stack
  uint32_t working_ = 0;           // helpers
  uint32_t parked_ = 0;            // helpers that wait in join()
  bool first_waits_ = false;
  std::atomic<int32_t> spare_{0};     // parked helpers for whom there is no packet; written under the lock
  std::atomic<uint32_t> changes_{0};  // futex: something was given, or the last helper at work has left. Written under the lock
  std::atomic<bool> abandoned_{false};
};

}  // namespace freehold::heap
