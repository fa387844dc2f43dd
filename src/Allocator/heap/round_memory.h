// Memory of one round of promotion: handed out from the start, taken back all at once.
#pragma once

#include <cstddef>

#include "core/object.h"
#include "os/growing_memory.h"

namespace freehold::heap {

class RoundMemory {
 public:
  RoundMemory() noexcept { memory_.reserve(); }
  ~RoundMemory() { memory_.release(); }
  RoundMemory(const RoundMemory&) = delete;
  RoundMemory& operator=(const RoundMemory&) = delete;

  // Zeroed, aligned for any type. Null: there is none.
  void* take(size_t size) noexcept {
    size = core::align_up(size, alignof(max_align_t));
    if (!memory_.reach(used_ + size)) return nullptr;
    void* taken = memory_.start() + used_;
    used_ += size;
    return taken;
  }

 private:
  static constexpr size_t kAtMost = size_t{8} << 30;  // address space, for the fields noted
  static constexpr size_t kStep = size_t{2} << 20;

  os::GrowingMemory memory_{kAtMost, kStep};
  size_t used_ = 0;
};

}  // namespace freehold::heap
