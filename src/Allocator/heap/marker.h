// The marker: scans what is marked, beside the threads or while they are stopped (docs/internals/reclaim.md). One thread at a time, under the lock of promotion, so that nothing moves.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/object.h"
#include "heap/walk.h"
#include "os/growing_memory.h"

namespace freehold::heap {

// Items in memory of their own, as many as fit.
template <typename Item>
class BoundedStack {
 public:
  BoundedStack(size_t at_most, size_t step) noexcept : memory_(at_most * sizeof(Item), step), at_most_(at_most) { memory_.reserve(); }
  ~BoundedStack() { memory_.release(); }
  BoundedStack(const BoundedStack&) = delete;
  BoundedStack& operator=(const BoundedStack&) = delete;

  // False: there is no room, or no memory.
  bool push(Item item) noexcept {
    if (count_ == at_most_ || !memory_.reach((count_ + 1) * sizeof(Item))) return false;
    items()[count_++] = item;
    return true;
  }
  bool is_empty() const noexcept { return count_ == 0; }
  Item pop() noexcept { return items()[--count_]; }
  Item& top() noexcept { return items()[count_ - 1]; }
  Item* items() noexcept { return reinterpret_cast<Item*>(memory_.start()); }
  size_t count() const noexcept { return count_; }

 private:
  os::GrowingMemory memory_;
  size_t at_most_, count_ = 0;
};

class Marker {
 public:
  Marker() noexcept;

  // What a root or a field refers to; it may lie within the object if `interior`. True: it was not marked before, and is to be scanned.
  bool mark(uintptr_t address, bool interior = false) noexcept;
  void scan(const core::Object* object, const core::MethodTable* type, size_t size) noexcept;
  // Scans what is marked, what that leads to, and what threads shade meanwhile, until nothing waits; or until more than so many objects were scanned, then false.
  bool drain(uint64_t at_most = UINT64_MAX) noexcept { return drain(at_most, false); }
  // The same while the threads are stopped, under a MaintenancePause.
  bool drain_stopped(uint64_t at_most) noexcept { return drain(at_most, true); }
  // With the threads stopped and nothing waiting: the places of the queue are used again.
  void empty_queue() noexcept;
  // With the threads stopped, when the marking is abandoned: what they have shaded is of no interest to the next one.
  void forget_shaded() noexcept;
  uint64_t scanned() const noexcept { return scanned_; }

 private:
  struct Rest {  // of an array
    const core::Object* object;
    size_t next;  // words behind the object's start
  };
  static constexpr size_t kStack = size_t{1} << 20, kRests = size_t{1} << 12, kAhead = 16;

  void push(uintptr_t address) noexcept;
  void note_found(const core::Object* object, const Walked& walked) noexcept;
  void scan_object(const core::Object* object) noexcept;
  void mark_soon(uintptr_t address) noexcept;
  uintptr_t take_first() noexcept;
  bool take_shaded() noexcept;
  bool scan_rest() noexcept;
  bool scan_overflowed(bool stopped) noexcept;
  bool drain(uint64_t at_most, bool stopped) noexcept;

  BoundedStack<uintptr_t> stack_;
  BoundedStack<Rest> rests_;
  // A ring of what mark_soon() was given.
  uintptr_t ahead_[kAhead] = {};
  size_t first_ = 0, coming_ = 0;
  size_t taken_ = 0;  // of the queue
  uint64_t scanned_ = 0;
};

}  // namespace freehold::heap
