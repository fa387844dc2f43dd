// Items in memory of their own, as many as fit.
#pragma once

#include <cstddef>

#include "os/growing_memory.h"

namespace freehold::heap {

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
  void clear() noexcept { count_ = 0; }

 private:
  os::GrowingMemory memory_;
  size_t at_most_, count_ = 0;
};

}  // namespace freehold::heap
