// The free slots of one size class that a thread takes from and frees into, without synchronization. They come from the spans in random order, so that the
// spans' live slots are random sets: that is what makes them meshable. For the spans they are in use.
#pragma once

#include <atomic>
#include <cstdint>

#include "random.h"

namespace freehold::mesh {

// Owned by one thread. Statistics read the count from others.
class ShuffleVector {
 public:
  void open(void** entries, uint32_t capacity) noexcept {
    bottom_ = entries;
    limit_ = entries + capacity;
    set_top(entries);
  }
  bool is_empty() const noexcept { return top() == bottom_; }
  bool is_full() const noexcept { return top() == limit_; }
  uint32_t count() const noexcept { return static_cast<uint32_t>(top() - bottom_); }
  bool is_valid(void* const* first, uint32_t capacity) const noexcept {
    return bottom_ == first && limit_ == first + capacity && top() >= bottom_ && top() <= limit_;
  }
  uint32_t room() const noexcept { return static_cast<uint32_t>(limit_ - top()); }
  void* pop() noexcept {
    void** entry = top() - 1;
    set_top(entry);
    return *entry;
  }
  void push(void* slot) noexcept {
    void** entry = top();
    *entry = slot;
    set_top(entry + 1);
  }
  // What was pushed last; arbitrary when there is nothing. The word before the first entry can be read.
  void* last() const noexcept { return top()[-1]; }
  void** entries() const noexcept { return bottom_; }
  // The last `count` entries in random order.
  void shuffle_last(uint32_t count, Random& random) noexcept {
    void** entries = top() - count;
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
    auto left = static_cast<uint32_t>(top() - from);
    for (uint32_t i = 0; i < left; i++) bottom_[i] = from[i];
    set_top(bottom_ + left);
  }

  uint32_t batch = 1;  // spans that the next refill asks for: grows while the thread does

 private:
  void** top() const noexcept { return top_.load(std::memory_order_relaxed); }
  void set_top(void** top) noexcept { top_.store(top, std::memory_order_relaxed); }

  std::atomic<void**> top_{nullptr};
  void** bottom_ = nullptr;
  void** limit_ = nullptr;
};

}  // namespace freehold::mesh
