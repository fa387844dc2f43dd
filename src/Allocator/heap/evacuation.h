// Evacuation: the live objects of one block are copied elsewhere, and the block forwards to them.
//
//   plan -> claim (who pins waits) -> protect (readers go on, writers fault and wait) -> copy -> no access, forwarding instead
#pragma once

#include <cstddef>
#include <cstdint>

#include "heap/forwarding.h"
#include "heap/noted_fields.h"
#include "heap/round_memory.h"

namespace freehold::heap {

// An object that is to be copied.
struct Planned {
  uint32_t offset;  // in its block
  uint32_t size : 31;
  uint32_t died : 1;  // deleted after the plan was made, before the block was protected
};
constexpr size_t kPlannedAtMost = core::kBlockSize / core::kMinimumObjectSize;

// One round's. The copies of all blocks follow one another; where the next go outlives the round.
class Evacuation {
 public:
  explicit Evacuation(FieldCollector& fields) noexcept : fields_(fields) {}

  bool take_memory(RoundMemory& memory) noexcept;
  // False: it is pinned, or incomplete, or there is no memory; nothing has changed then.
  bool promote_block(size_t block) noexcept;
  // The same in two steps, for a block that threads pin again and again. The first in a stop, once the block has forgotten the pins that no pinned local shows: from then on who pins it waits for the
  // end of the second, which must follow. False: it is pinned, or maintenance is at work; there is no second step.
  bool claim_in_stop(size_t block) noexcept;
  bool promote_claimed(size_t block) noexcept;

  bool is_exhausted() const noexcept { return exhausted_; }  // no block to copy to
  uint64_t objects() const noexcept { return objects_; }

 private:
  bool evacuate(size_t block, bool claimed) noexcept;
  bool plan(size_t block) noexcept;
  bool reserve(size_t size) noexcept;
  uint8_t* place_of(uint32_t rank) noexcept;
  template <typename Function>
  void for_each_planned(Function function) noexcept;
  void give_up_plan() noexcept;
  void copy(size_t block) noexcept;
  void collect_from_copies() noexcept;

  FieldCollector& fields_;
  ForwardingDraft* draft_ = nullptr;
  // Of the block that is being promoted: the objects to copy, their units, and how many of them died.
  Planned* planned_ = nullptr;
  size_t planned_count_ = 0;
  uint32_t units_ = 0;
  size_t died_ = 0;
  uint64_t began_ = 0;  // nanoseconds: since when threads may wait for its end
  uint64_t objects_ = 0;
  bool exhausted_ = false;
};

// The block that the copies go to. It looks complete when maintenance has taken what is left of it for idle. kNoBlock: none yet.
size_t block_of_copies() noexcept;

}  // namespace freehold::heap
