// The spans of a size class that have room, and the moves that empty the sparsest of them into the fullest.
//
// Made while the threads run, and used in several stops: what was a span when the list was made may be none any more, or one of another class.
#pragma once

#include <cstddef>
#include <cstdint>

#include "spans.h"

namespace freehold::bridge {

class Evacuation {
 public:
  // Without memory for the list there is nothing to do.
  explicit Evacuation(uint32_t size_class) noexcept;
  ~Evacuation();
  Evacuation(const Evacuation&) = delete;
  Evacuation& operator=(const Evacuation&) = delete;

  // There is room for two spans at least.
  bool is_worth_it() const noexcept { return sorted_ != nullptr; }
  // With all threads stopped, and the slots that threads keep taken back. Moves until the clock says `deadline`, which is looked at every kLookEvery bytes. False: that was all.
  bool move_until(uint64_t deadline) noexcept;
  // Bytes of spans that became empty.
  size_t emptied() const noexcept { return emptied_; }

 private:
  static constexpr size_t kLookEvery = 16 * 1024;
  static constexpr size_t kMoveCosts = 256, kSpanCosts = 1024;  // bytes that take as long to copy, about

  bool has_room(uint32_t number) const noexcept;

  uint32_t size_class_;
  uint32_t* sorted_ = nullptr;  // numbers of spans, the sparsest first
  size_t bytes_ = 0;            // of the list
  size_t from_ = 0, to_ = 0;    // the next to empty, and one behind the next to fill
  uint32_t slot_ = 0;           // of the next to empty
  size_t emptied_ = 0;
};

}  // namespace freehold::bridge
