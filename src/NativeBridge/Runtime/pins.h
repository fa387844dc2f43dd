// What a thread keeps in place. The handles of its records (abi.h) are copied here when a record is linked, so that whoever stops the thread never
// reads frames: longjmp over compiled frames, pthread_exit and cancellation end frames without a word. What they leave here only keeps objects in
// place for longer. It goes when a record is linked or unlinked further up on the thread's own stack. Of other stacks (coroutines, handlers) nobody
// knows which frames have ended, so theirs stay until their own records go, or longjmp leads back to a compiled setjmp.
//
// Owner: the thread while it is inside; read by others while it is outside.
#pragma once

#include <cstddef>
#include <cstdint>

#include "abi.h"

namespace freehold::bridge {

class Pins {
 public:
  // For a new thread. The bounds of its stack; 0 and 0: not known.
  void clear() noexcept { count_ = 0; }
  void set_stack(uintptr_t low, uintptr_t high) noexcept {
    low_ = low;
    high_ = high;
    others_count_ = 0;
  }
  // Memory of its stack that is another stack: of a coroutine, or of handlers.
  void note_other_stack(uintptr_t low, uintptr_t high) noexcept;

  // `interrupted`: this is a handler, and what it has interrupted may be one of these functions. Then nothing is dropped that others have pushed.
  void push(const PinRecord& record, bool interrupted) noexcept;
  void pop(const PinRecord& record, bool interrupted) noexcept {
    auto at = reinterpret_cast<uintptr_t>(&record);
    const Pin* pins = all();
    uint32_t count = count_;
    while (count != 0 && pins[count - 1].record == at) count--;
    bool is_newest = count != count_;
    count_ = count;
    if (interrupted || count == 0 || (is_newest && pins[count - 1].record > at)) return;
    drop_below(at);
  }
  // What frames below the address on the thread's own stack have left goes.
  void drop_below(uintptr_t address) noexcept;

  // On the thread's own stack.
  bool is_own(uintptr_t address) const noexcept {
    if (address - low_ >= high_ - low_) return false;
    for (uint32_t i = 0; i < others_count_; i++) {
      if (address - others_[i].low < others_[i].high - others_[i].low) return false;
    }
    return true;
  }

  uint32_t depth() const noexcept { return count_; }
  // What was pushed since goes.
  void cut(uint32_t depth) noexcept {
    if (count_ > depth) count_ = depth;
  }

  // Visits each word that a record has named: handles, addresses and zeroes.
  template <typename Visitor>
  void for_each(Visitor visit) const noexcept {
    for (uint32_t i = 0; i < count_; i++) visit(all()[i].handle);
  }
  // Those of the newest record only.
  template <typename Visitor>
  void for_each_of_newest(Visitor visit) const noexcept {
    for (uint32_t i = count_; i != 0 && all()[i - 1].record == all()[count_ - 1].record; i--) visit(all()[i - 1].handle);
  }

 private:
  struct Pin {
    uintptr_t record;
    uint64_t handle;
  };
  static constexpr uint32_t kFew = 64, kSpare = 32;

  Pin* all() noexcept { return more_ != nullptr ? more_ : few_; }
  const Pin* all() const noexcept { return more_ != nullptr ? more_ : few_; }
  uint32_t capacity() const noexcept { return more_ != nullptr ? more_capacity_ : kFew; }
  void grow(uint32_t wanted) noexcept;

  uint32_t count_;
  uint32_t more_capacity_;
  Pin* more_;  // mapped, once there were too many; zero in a new thread's memory
  uintptr_t low_, high_;
  struct Range {
    uintptr_t low, high;
  };
  static constexpr uint32_t kMostOthers = 8;
  uint32_t others_count_;
  Range others_[kMostOthers];
  Pin few_[kFew];
};

}  // namespace freehold::bridge
