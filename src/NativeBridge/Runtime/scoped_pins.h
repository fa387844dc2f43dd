// Objects that code without handles keeps in place for a while, wherever it is: NativeHandle.Pin of C#. Beside the records of threads (pins.h), as such a pin follows no stack: two of one frame
// may go in any order, and another thread may let go what this one took.
//
// Changed by threads that are inside, so never during a stop; read during stops.
#pragma once

#include <cstddef>
#include <cstdint>

#include "owned_lock.h"

namespace freehold::bridge {

class ScopedPins {
 public:
  // Where the pin is from now on; 0: no memory.
  uint32_t add(uint64_t handle) noexcept;
  // False: nothing is pinned there.
  bool remove(uint32_t place, uint64_t handle) noexcept;
  // An object with that id is in it. A handle that was freed meanwhile keeps its entry.
  bool has(uint32_t id) noexcept;
  uint32_t count() const noexcept { return count_.load(std::memory_order_relaxed); }

  // With all threads stopped.
  template <typename Visitor>
  void for_each(Visitor visit) noexcept {
    for (uint32_t i = 1; i < end_; i++) {
      if ((pins_[i] >> 63) != 0) visit(pins_[i]);
    }
  }

  // Around fork.
  bool lock_unless_mine() noexcept { return lock_.lock_unless_mine(); }
  void unlock() noexcept { lock_.unlock(); }

 private:
  static constexpr uint32_t kMost = 1u << 24;

  OwnedLock lock_;
  uint64_t* pins_ = nullptr;  // a handle, or the next unused place. Reserved for kMost
  uint32_t end_ = 1, unused_ = 0;
  std::atomic<uint32_t> count_{0};
};

extern ScopedPins scoped_pins;

}  // namespace freehold::bridge
