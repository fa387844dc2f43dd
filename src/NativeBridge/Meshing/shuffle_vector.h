// The free slots of one size class that a thread takes from and frees into, without synchronization. They come from the spans in random order, so that the
// spans' live slots are random sets: that is what makes them meshable. For the spans they are in use.
#pragma once

#include <cstdint>

#include "random.h"

namespace freehold::mesh {

// Owned by one thread.
class ShuffleVector {
 public:
  void open(void** entries, uint32_t capacity) noexcept {
    top_ = bottom_ = entries;
    limit_ = entries + capacity;
  }
  bool is_empty() const noexcept { return top_ == bottom_; }
  bool is_full() const noexcept { return top_ == limit_; }
  uint32_t count() const noexcept { return static_cast<uint32_t>(top_ - bottom_); }
  uint32_t room() const noexcept { return static_cast<uint32_t>(limit_ - top_); }
  void* pop() noexcept { return *--top_; }
  void push(void* slot) noexcept { *top_++ = slot; }
  // What was pushed last; arbitrary when there is nothing. The word before the first entry can be read.
  void* last() const noexcept { return top_[-1]; }
  bool contains(const void* slot) const noexcept {
    for (void** entry = bottom_; entry < top_; entry++) {
      if (*entry == slot) return true;
    }
    return false;
  }
  void** entries() const noexcept { return bottom_; }
  // The last `count` entries in random order.
  void shuffle_last(uint32_t count, Random& random) noexcept {
    void** entries = top_ - count;
    for (uint32_t i = count; i > 1;) {
      uint64_t bits = random.next();  // enough for four draws
      for (int draw = 0; draw < 4 && i > 1; draw++, i--, bits >>= 16) {
        uint32_t other = static_cast<uint32_t>((bits & 0xffff) * i >> 16);
        void* entry = entries[other];
        entries[other] = entries[i - 1];
        entries[i - 1] = entry;
      }
    }
  }
  // Forgets the first `count` entries.
  void drop_first(uint32_t count) noexcept {
    void** from = bottom_ + count;
    uint32_t left = static_cast<uint32_t>(top_ - from);
    for (uint32_t i = 0; i < left; i++) bottom_[i] = from[i];
    top_ = bottom_ + left;
  }

  uint32_t batch = 1;  // spans that the next refill asks for: grows while the thread does

 private:
  void** top_ = nullptr;
  void** bottom_ = nullptr;
  void** limit_ = nullptr;
};

}  // namespace freehold::mesh
