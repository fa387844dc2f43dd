// Stacks that were walked before. A walk unwinds frame after frame by their descriptions; where the same code runs again at the same place of the same thread's stack,
// every return address lies where it lay, and comparing them is all that is left to do: each one that is there says how large its frame is, and so where the next one lies.
//
// Only a frame of variable size (a stackalloc) could break that, with the old address left in a slot where another frame lies now. A stack is told to people and
// nothing is done by it, so that this is worth the risk.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "heap/history.h"
#include "heap/stack_store.h"

namespace freehold::heap {

// What a walk meets: return addresses and the slots where they lie, innermost first.
class WalkedStack {
 public:
  static constexpr size_t kNativeFrames = 24;
  static constexpr size_t kAtMost = kNativeFrames + kStackDepth;

  // Slots below are not there any more when somebody looks.
  explicit WalkedStack(uintptr_t start) noexcept : start_(start) {}

  // A frame that is compared, and told if it is `managed`. Native frames come first. Where the slot does not hold the address (an exception is under way, say), the stack is
  // not one that can be found again.
  void add(uintptr_t slot, uintptr_t address, bool managed) noexcept;

 private:
  friend void remember_known_stack(StackOf what, const void* thread, const WalkedStack& stack, size_t capacity) noexcept;

  uintptr_t start_;
  size_t count_ = 0, native_ = 0;
  bool is_whole_ = true;
  uintptr_t slots_[kAtMost], addresses_[kAtMost];
};

// The addresses that a walk with this capacity would tell, if one that began at the same place is known. Returns how many; 0: none is.
size_t find_known_stack(StackOf what, const void* thread, uintptr_t start, uintptr_t* addresses, size_t capacity) noexcept;
void remember_known_stack(StackOf what, const void* thread, const WalkedStack& stack, size_t capacity) noexcept;

// By StackOf. Relaxed: figures, which nothing is done by.
struct KnownStackCounters {
  std::atomic<uint64_t> remembered[2]{}, found[2]{};
};
extern KnownStackCounters known_stack_counters;

}  // namespace freehold::heap
