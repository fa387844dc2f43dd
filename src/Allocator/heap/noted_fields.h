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

// Pages to be marked at the end of the round.
struct NotedPages {
  static constexpr size_t kCapacity = 510;

  NotedPages* next;
  uint64_t count;
  size_t page[kCapacity];
};

class FieldCollector {
 public:
  FieldCollector(Selection& selection, RoundMemory& memory) noexcept : selection_(selection), memory_(memory) {}

  // Around a round. Meanwhile barriers mark the pages of all references to generation 0 in a long round, of young ones in a short one, and nobody else marks any: what is marked was
  // stored to since it was looked at last.
  void begin(bool is_short) noexcept;
  void end() noexcept;
  // The walk over all live objects; with it a new time of remembering begins (heap/cards.h).
  void collect_from_all() noexcept;
  // A short round, whose chosen blocks are young: all references to them were stored since the last walk, so that the pages where they are are marked. In any round, what was stored
  // meanwhile: fields into blocks to come are noted, those into blocks that were promoted already are patched.
  void collect_from_cards() noexcept;
  void collect_from(size_t block) noexcept;
  // A field that leads into a chosen block is noted; one that is stale since an earlier round is repaired at once.
  void visit(uint64_t* slot) noexcept;
  // The fields noted, if they still say what they said. A field may have moved itself.
  void patch(const Chosen& chosen) noexcept;

  uint64_t cards() const noexcept { return cards_; }  // that were walked

 private:
  void note_page(size_t page) noexcept;
  template <typename Lower, typename Huge>
  void for_each_unchosen(Lower lower, Huge huge) noexcept;

  Selection& selection_;
  RoundMemory& memory_;
  uint64_t cards_ = 0;
  uint64_t young_from_ = UINT64_MAX;  // of the time of remembering after the round
  NotedPages* pages_ = nullptr;
};

}  // namespace freehold::heap
