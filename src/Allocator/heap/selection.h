// Which blocks a round of promotion takes: the emptiest first, until enough is won.
#pragma once

#include <cstddef>
#include <cstdint>

#include "heap/promotion_scope.h"
#include "heap/round_memory.h"

namespace freehold::heap {

struct NotedFields;

// A block that is to be promoted, and the fields that lead into it (heap/noted_fields.h).
struct Chosen {
  uint32_t block;
  uint32_t gain;  // in kUnit: what is dead and has memory
  NotedFields* fields;
};

// What a round has chosen. The block's record knows its number, from 1 (BlockRecord::chosen), until forget().
class Selection {
 public:
  // False: there is no memory.
  bool take_memory(RoundMemory& memory) noexcept;
  // `of_copies`: the block that copies go to, which is not chosen however complete it looks; kNoBlock if there is none.
  void choose(PromotionScope scope, size_t of_copies, RoundMemory& memory) noexcept;
  void forget() noexcept;

  size_t count() const noexcept { return count_; }
  Chosen& at(size_t i) noexcept { return chosen_[i]; }
  // Only young blocks are chosen.
  bool is_short() const noexcept { return short_; }
  // Whether a walk must look closer at a reference into the block: it is chosen, or was promoted before. A byte for each, since the walk asks for every
  // reference there is: the blocks' records would not stay in the cache.
  bool concerns(size_t block) const noexcept { return concerned_[block] != 0; }

 private:
  Chosen* chosen_ = nullptr;
  uint8_t* concerned_ = nullptr;
  size_t count_ = 0;
  bool short_ = false;
};

}  // namespace freehold::heap
