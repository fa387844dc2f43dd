// Memory of which nobody knows yet how much it will be: address space for all that it can become, which is made accessible from its start on. It never moves.
#pragma once

#include "os/kernel.h"

namespace freehold::os {

// One thread at a time. Without a destructor, which statics must not have: whoever owns one releases it.
class GrowingMemory {
 public:
  // Bytes, both of whole pages; `at_most` is rounded up to steps.
  constexpr GrowingMemory(size_t at_most, size_t step) noexcept : at_most_((at_most + step - 1) / step * step), step_(step) {}
  GrowingMemory(const GrowingMemory&) = delete;
  GrowingMemory& operator=(const GrowingMemory&) = delete;

  // False: there is no address space.
  bool reserve() noexcept { return (start_ = static_cast<uint8_t*>(os::reserve(at_most_, kPageSize, 0))) != nullptr; }
  // Null: not reserved.
  uint8_t* start() const noexcept { return start_; }
  // Makes the first `size` bytes accessible. False: not reserved, too many, or no memory; what was accessible stays so.
  bool reach(size_t size) noexcept {
    if (start_ == nullptr) return false;
    for (; committed_ < size; committed_ += step_) {
      if (committed_ == at_most_ || !commit(start_ + committed_, step_)) return false;
    }
    return true;
  }
  void release() noexcept {
    committed_ = 0;
    unreserve_at(start_, at_most_);
  }

 private:
  size_t at_most_, step_;
  uint8_t* start_ = nullptr;
  size_t committed_ = 0;
};

}  // namespace freehold::os
