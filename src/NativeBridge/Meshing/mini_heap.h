// A MiniHeap describes one span: which of its slots are free. Spans that were meshed share the pages of one of them, the leader, each under its own
// addresses and with a MiniHeap of its own; a slot of the shared pages is free when it is free in all of them.
#pragma once

#include <atomic>
#include <cstdint>

#include "size_classes.h"

namespace freehold::mesh {

// One bit for each slot of a span.
struct Bits {
  uint64_t words[4];
  bool operator==(const Bits& other) const noexcept {
    return ((words[0] ^ other.words[0]) | (words[1] ^ other.words[1]) | (words[2] ^ other.words[2]) | (words[3] ^ other.words[3])) == 0;
  }
  bool any() const noexcept { return (words[0] | words[1] | words[2] | words[3]) != 0; }
  bool intersects(const Bits& other) const noexcept {
    return ((words[0] & other.words[0]) | (words[1] & other.words[1]) | (words[2] & other.words[2]) | (words[3] & other.words[3])) != 0;
  }
  uint32_t count() const noexcept {
    return static_cast<uint32_t>(__builtin_popcountll(words[0]) + __builtin_popcountll(words[1]) + __builtin_popcountll(words[2]) +
                                 __builtin_popcountll(words[3]));
  }
  // The bits of the first `slots`.
  static constexpr Bits first(uint32_t slots) noexcept {
    Bits bits = {};
    for (uint32_t i = 0; i < 4; i++) bits.words[i] = slots >= 64 * (i + 1) ? ~uint64_t{0} : slots <= 64 * i ? 0 : (uint64_t{1} << (slots - 64 * i)) - 1;
    return bits;
  }
};

namespace internal {
struct AllSlots {
  Bits bits[kClasses];
  constexpr AllSlots() noexcept : bits() {
    for (uint32_t i = 0; i < kClasses; i++) bits[i] = Bits::first(kSizeClasses[i].slots);
  }
};
inline constexpr AllSlots kAllSlots;
}  // namespace internal
inline constexpr const Bits (&kAllSlots)[kClasses] = internal::kAllSlots.bits;

using MiniHeapId = uint32_t;  // 0: none

struct alignas(64) MiniHeap {
  static constexpr uint8_t kUnused = 0xff, kFull = 0xfe, kMember = 0xfd;  // values of `bin` that are no bin

  // Set by who frees (a slot that is set already was freed before); cleared under the class's lock by who allocates. What a thread has in its
  // shuffle vectors is not free here.
  std::atomic<uint64_t> free_words[4];
  // All below are written under the class's lock. `leader` and `bin` are also read without it, by who frees, after the free bit: see GlobalHeap::settle.
  std::atomic<MiniHeapId> leader;  // this one's own id unless meshed into another
  std::atomic<uint8_t> bin;        // of the global heap, for leaders
  std::atomic<uint8_t> size_class;
  uint8_t members;            // of the leader: spans that share its pages, beside itself
  uint8_t discarded;          // a span that does not mesh: its slots (of 16 at most) whose pages were given back, 8 and more never are
  uint8_t free_before;        // the same slots: those that were free when discard_free_slots() last looked
  uint32_t page;              // where the span begins, in pages of the arena
  MiniHeapId next, previous;  // in the bin
  MiniHeapId next_member;     // in the leader and its members; 0 ends

  Bits free() const noexcept {
    Bits bits;
    for (int i = 0; i < 4; i++) bits.words[i] = free_words[i].load(std::memory_order_seq_cst);
    return bits;
  }
  // Nothing lives in it.
  bool is_empty() const noexcept { return free() == kAllSlots[size_class.load(std::memory_order_relaxed)]; }
};
static_assert(sizeof(MiniHeap) == 64);

}  // namespace freehold::mesh
