// Objects that code without handles keeps in place for a while, wherever it is: NativeHandle.Pin of C#. Beside the records of threads (pins.h), as such a pin follows no stack: two of one frame
// may go in any order, and another thread may let go what this one took.
//
// Changed by threads that are inside, so never during a stop; read during stops. No lock: a handler of a signal may pin while it has interrupted a thread that does.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "Platform/violation.h"
#include "os.h"

namespace freehold::bridge {

class ScopedPins {
 public:
  // What the pin is called from now on: its place, and how often that was used before. 0: no memory.
  uint64_t add(uint64_t handle) noexcept;
  // False: there is no such pin, or not any more.
  bool remove(uint64_t pin, uint64_t handle) noexcept;
  // An object with that id is in it. A handle that was freed meanwhile keeps its entry.
  bool has(uint32_t id) noexcept;
  uint32_t count() const noexcept { return count_.load(std::memory_order_relaxed); }

  // With all threads stopped. What is wrong, if anything is.
  freehold::os::Violation verify() const noexcept;
  // With all threads stopped.
  template <typename Visitor>
  void for_each(Visitor visit) noexcept {
    const Entry* all = entries_.load(std::memory_order_acquire);
    for (uint32_t i = 1, end = end_.load(std::memory_order_acquire); i < end; i++) {
      uint64_t word = all[i].word.load(std::memory_order_acquire);
      if ((word >> 63) != 0) visit(word);
    }
  }

 private:
  struct Entry {
    std::atomic<uint64_t> word;  // a handle, or the next unused place. Written by who has taken the place from the list, or has counted `uses` up
    std::atomic<uint32_t> uses;  // pins that were let go here: who counts it up lets go
  };
  static constexpr uint32_t kMost = 1u << 23;

  Entry* entries() noexcept;
  uint32_t take_unused() noexcept;

  std::atomic<Entry*> entries_{nullptr};  // reserved for kMost
  std::atomic<uint32_t> end_{1}, count_{0};
  std::atomic<uint64_t> unused_{
      0};  // the first unused place; its upper half changes with each taking, so that a list that has only the same head is another one
};

extern ScopedPins scoped_pins;

}  // namespace freehold::bridge
