#include "heap/noted_fields.h"

#include "core/arena.h"
#include "core/fault_recovery.h"
#include "core/object.h"
#include "core/references.h"
#include "heap/addresses.h"
#include "heap/block_walk.h"
#include "heap/cards.h"
#include "heap/forwarding.h"
#include "heap/promotion_counters.h"

namespace freehold::heap {

using core::arena;
using core::BlockKind;
using core::BlockRecord;
using core::BlockState;
using core::kBlockSize;
using core::kPagesPerBlock;
using core::Object;

void FieldCollector::begin(bool is_short) noexcept {
  if (is_short) {
    young_from_ = __atomic_load_n(&freehold_barrier.young_from, __ATOMIC_RELAXED);
  } else {
    // What is allocated from now on is young. (The blocks that are being filled are not, whatever comes into them.)
    young_from_ = reinterpret_cast<uintptr_t>(arena.block_start(lap_position()));
    remember_from(arena.start);
  }
}

void FieldCollector::end() noexcept {
  remember_from(young_from_);
  for (const NotedPages* pages = pages_; pages != nullptr; pages = pages->next) {
    for (size_t i = 0; i < pages->count; i++) mark_card(pages->page[i]);
  }
}

void FieldCollector::note_page(size_t page) noexcept {
  if (pages_ != nullptr && pages_->page[pages_->count - 1] == page) return;
  if (pages_ == nullptr || pages_->count == NotedPages::kCapacity) {
    auto* more = static_cast<NotedPages*>(memory_.take(sizeof(NotedPages)));
    if (more == nullptr) return mark_card(page);  // and it is looked at again
    more->next = pages_;
    more->count = 0;
    pages_ = more;
  }
  pages_->page[pages_->count++] = page;
}

void FieldCollector::visit(uint64_t* slot) noexcept {
  uint64_t value;
  if (!core::try_load(slot, &value) || !arena.in_lower_half(value)) return;
  if (value >= young_from_ && is_in_generation0(value)) note_page(arena.page_index(reinterpret_cast<uintptr_t>(slot)));
  if (!selection_.concerns(arena.block_index(value))) return;
  const BlockRecord& record = arena.blocks[arena.block_index(value)];
  if (record.state.load(std::memory_order_acquire) == BlockState::kForwarded) {
    bool swapped;
    uint64_t current = current_address(value);
    if (current != value && core::try_compare_and_swap(slot, value, current, &swapped) && swapped) count(promotion_counters.patched, 1);
    value = current;
  }
  uint16_t number = arena.blocks[arena.block_index(value)].chosen.load(std::memory_order_relaxed);
  if (number == 0) return;
  NotedFields*& list = selection_.at(number - 1u).fields;
  if (list == nullptr || list->count == NotedFields::kCapacity) {
    auto* more = static_cast<NotedFields*>(memory_.take(sizeof(NotedFields)));
    if (more == nullptr) return;  // faults will find it
    more->next = list;
    more->count = 0;
    list = more;
  }
  list->slot[list->count++] = slot;
}

void FieldCollector::collect_from(size_t block) noexcept {
  walk_block(block, [&](uint8_t* start, const Walked& walked) noexcept {
    if (is_live(walked)) core::for_each_reference(Object::at(start), walked.type, walked.size, [&](uint64_t* slot) noexcept { visit(slot); });
  });
}

// The chosen blocks are left out: most of what is there is dead, and what lives is visited as soon as it is copied.
template <typename Lower, typename Huge>
void FieldCollector::for_each_unchosen(Lower lower, Huge huge) noexcept {
  for_each_lower_block([&](size_t block) noexcept {
    const BlockRecord& record = arena.blocks[block];
    if (record.state.load(std::memory_order_acquire) == BlockState::kLive && record.chosen.load(std::memory_order_relaxed) == 0) lower(block);
  });
  for_each_upper_block([&](size_t block) noexcept {
    const BlockRecord& record = arena.blocks[block];
    if (record.state.load(std::memory_order_acquire) != BlockState::kLive || record.kind != BlockKind::kHuge) return;
    Walked walked = look_at(arena.block_start(block));
    if (is_live(walked)) huge(block, walked);
  });
}

// Calls function(page) for each marked page of a block, or of a huge object, and clears the marks.
template <typename Function>
void take_cards_of(size_t block, size_t size, Function function) noexcept {
  size_t first = block * kPagesPerBlock;
  take_cards(first, first + (size + core::kPageSize - 1) / core::kPageSize, function);
}

void FieldCollector::collect_from_all() noexcept {
  constexpr auto kForget = [](size_t) noexcept {};
  for_each_unchosen(
      [&](size_t block) noexcept {
        take_cards_of(block, kBlockSize, kForget);
        collect_from(block);
      },
      [&](size_t block, const Walked& walked) noexcept {
        take_cards_of(block, walked.size, kForget);
        core::for_each_reference(Object::at(arena.block_start(block)), walked.type, walked.size, [&](uint64_t* slot) noexcept { visit(slot); });
      });
}

void FieldCollector::collect_from_cards() noexcept {
  auto visit_on_page = [&](size_t page, uint8_t* start, const Walked& walked) noexcept {
    auto begin_of = [](size_t page) noexcept { return reinterpret_cast<uint64_t*>(arena.page_start(page)); };
    core::for_each_reference_between(Object::at(start), walked.type, walked.size, begin_of(page), begin_of(page + 1),
                                     [&](uint64_t* slot) noexcept { visit(slot); });
  };
  for_each_unchosen(
      [&](size_t block) noexcept {
        const BlockRecord& record = arena.blocks[block];
        Guess guess;
        take_cards_of(block, kBlockSize, [&](size_t page) noexcept {
          if (core::is_page_dead(page)) return;
          cards_++;
          uint8_t *cursor = first_object(page), *end = arena.page_start(page + 1);
          if (cursor == nullptr) mark_card(page);
          while (cursor != nullptr && cursor < end) {
            Walked walked = is_walkable(record, cursor) ? look_at(cursor, guess) : Walked{Step::kEnd, 0, 0, nullptr};
            if (walked.step == Step::kEnd || walked.size == 0) {
              mark_card(page);  // the rest is for the next round
              return;
            }
            if (is_live(walked)) visit_on_page(page, cursor, walked);
            cursor += walked.size;
          }
        });
      },
      [&](size_t block, const Walked& walked) noexcept {
        take_cards_of(block, walked.size, [&](size_t page) noexcept {
          cards_++;
          visit_on_page(page, arena.block_start(block), walked);
        });
      });
}

void FieldCollector::patch(const Chosen& chosen) noexcept {
  uint64_t patched = 0, collected = 0;
  for (const NotedFields* fields = chosen.fields; fields != nullptr; fields = fields->next) {
    collected += fields->count;
    for (size_t i = 0; i < fields->count; i++) {
      // The fields lie far apart; the processor may fetch some while it works on another.
      constexpr size_t kAhead = 8;
      if (i + kAhead < fields->count) __builtin_prefetch(fields->slot[i + kAhead], 1);
      auto* slot = reinterpret_cast<uint64_t*>(current_address(reinterpret_cast<uintptr_t>(fields->slot[i])));
      uint64_t value;
      // A field's block may have died since: not worth a fault.
      if (arena.blocks[arena.block_index(reinterpret_cast<uintptr_t>(slot))].state.load(std::memory_order_acquire) != BlockState::kLive) continue;
      if (!core::try_load(slot, &value) || !arena.contains(value) || arena.block_index(value) != chosen.block) continue;
      uint64_t current = current_address(value);
      bool swapped;
      if (current != value && core::try_compare_and_swap(slot, value, current, &swapped) && swapped) patched++;
    }
  }
  count(promotion_counters.collected, collected);
  count(promotion_counters.patched, patched);
}

}  // namespace freehold::heap
