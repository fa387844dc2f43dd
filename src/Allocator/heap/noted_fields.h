// The fields that lead into chosen blocks: a walk notes them, and they are patched once their block's objects have moved.
#pragma once

#include <cstddef>
#include <cstdint>

#include "heap/round_memory.h"
#include "heap/selection.h"
#include "heap/walk.h"

namespace freehold::heap {

struct NotedFields {
  static constexpr size_t kCapacity = 510;

  NotedFields* next;
  uint64_t count;
  uint64_t* slot[kCapacity];
};
static_assert(sizeof(NotedFields) == 4096);

inline bool is_live(const Walked& walked) noexcept { return walked.step == Step::kObject && (walked.header & core::kDeletedBit) == 0; }

class FieldCollector {
 public:
  FieldCollector(Selection& selection, RoundMemory& memory) noexcept : selection_(selection), memory_(memory) {}

  // The walk over all live objects; it begins a new time of remembering (heap/cards.h).
  void collect_from_all() noexcept;
  // A short round, whose chosen blocks are young: all references to them were stored since the last walk, so that the pages where they are are marked.
  void collect_from_cards() noexcept;
  void collect_from(size_t block) noexcept;
  // A field that leads into a chosen block is noted; one that is stale since an earlier round is repaired at once.
  void visit(uint64_t* slot) noexcept;
  // The fields noted, if they still say what they said. A field may have moved itself.
  void patch(const Chosen& chosen) noexcept;

  uint64_t cards() const noexcept { return cards_; }  // that were walked

 private:
  template <typename Lower, typename Huge>
  void for_each_unchosen(Lower lower, Huge huge) noexcept;

  Selection& selection_;
  RoundMemory& memory_;
  uint64_t cards_ = 0;
};

}  // namespace freehold::heap
