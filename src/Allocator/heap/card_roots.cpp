#include "heap/card_roots.h"

#include "core/arena.h"
#include "core/fault_recovery.h"
#include "core/object.h"
#include "core/references.h"
#include "heap/block_walk.h"
#include "heap/cards.h"
#include "heap/phases.h"
#include "heap/shading.h"
#include "heap/walk.h"

namespace freehold::heap {

using core::arena;
using core::BlockKind;
using core::BlockRecord;
using core::BlockState;
using core::kPageSize;
using core::kPagesPerBlock;
using core::Object;

namespace {

constexpr uint64_t in_each_byte(uint8_t bits) noexcept { return ~uint64_t{0} / 0xff * bits; }
constexpr size_t kWordsOfBlock = kPagesPerBlock / sizeof(uint64_t);

uint64_t* words_of(size_t block) noexcept { return reinterpret_cast<uint64_t*>(arena.cards + block * kPagesPerBlock); }

// No barrier runs, and no round: nobody else writes there, but a group's tables may go.
void take_marks_of(size_t block) noexcept {
  constexpr int kShift = 7;
  static_assert(Card::kForReclaims >> kShift == Card::kTaken);
  uint64_t* words = words_of(block);
  for (size_t i = 0; i < kWordsOfBlock; i++) {
    uint64_t word = __atomic_load_n(&words[i], __ATOMIC_RELAXED);
    if ((word & in_each_byte(Card::kForReclaims | Card::kTaken)) == 0) continue;
    uint64_t taken = (word & in_each_byte(Card::kForReclaims)) >> kShift;
    __atomic_store_n(&words[i], (word & in_each_byte(Card::kForRounds)) | taken, __ATOMIC_RELAXED);
  }
}

class Scan {
 public:
  Scan(const Remembered& remembered, void* argument) noexcept : remembered_(remembered), argument_(argument) {}

  void scan_shared(size_t block) noexcept {
    const BlockRecord& record = arena.blocks[block];
    for_each_taken(block * kPagesPerBlock, (block + 1) * kPagesPerBlock, [&](size_t page) noexcept {
      MaintenancePause pause;  // what lies behind a page that goes away during the walk would be left out
      scan_page(record, page);
    });
  }
  void scan_huge(size_t block) noexcept {
    uint8_t* start = arena.block_start(block);
    Walked walked = look_at(start);
    if (walked.step != Step::kObject) return;
    size_t first = block * kPagesPerBlock, pages = (walked.size + kPageSize - 1) / kPageSize;
    for_each_taken(first, first + pages, [&](size_t page) noexcept { scan_on_page(page, start, walked); });
  }
  uint64_t pages() const noexcept { return pages_; }

 private:
  template <typename Function>
  void for_each_taken(size_t first, size_t end, Function function) noexcept {
    static_assert(kPagesPerBlock % sizeof(uint64_t) == 0);
    for (size_t page = first; page < end; page += sizeof(uint64_t)) {
      uint64_t word = __atomic_load_n(reinterpret_cast<const uint64_t*>(arena.cards + page), __ATOMIC_RELAXED) & in_each_byte(Card::kTaken);
      for (; word != 0; word &= word - 1) {
        size_t taken = page + static_cast<size_t>(__builtin_ctzll(word)) / 8;
        if (taken >= end) return;
        pages_++;
        function(taken);
        remembered_.page_done(argument_);
      }
    }
  }

  void scan_on_page(size_t page, uint8_t* start, const Walked& walked) noexcept {
    if (!walked.type->has_pointers()) return;
    auto begin_of = [](size_t page) noexcept { return reinterpret_cast<uint64_t*>(arena.page_start(page)); };
    core::for_each_reference_between(Object::at(start), walked.type, walked.size, begin_of(page), begin_of(page + 1), [this](uint64_t* slot) noexcept {
      uint64_t value;
      if (core::try_load(slot, &value) && arena.contains(value)) remembered_.reference(value, argument_);
    });
  }

  void scan_page(const BlockRecord& record, size_t page) noexcept {
    uint8_t *cursor = first_object(page), *end = arena.page_start(page + 1);
    // Nothing reaches there that can be read, or it is younger than the stop: objects of a chunk are made in the order of their addresses, and a page lies in one chunk.
    Guess guess;
    while (cursor != nullptr && cursor < end) {
      if (!is_walkable(record, cursor)) return;
      Walked walked = look_at(cursor, guess);
      if (walked.step == Step::kEnd || walked.size == 0) return;
      if (walked.step == Step::kObject) scan_on_page(page, cursor, walked);
      cursor += walked.size;
    }
  }

  const Remembered& remembered_;
  void* const argument_;
  uint64_t pages_ = 0;
};

bool has_memory(const BlockRecord& record) noexcept {
  BlockState state = record.state.load(std::memory_order_acquire);
  return state == BlockState::kLive || state == BlockState::kPooled;
}

}  // namespace

void take_marked_pages() noexcept {
  for_each_lower_block([](size_t block) noexcept { take_marks_of(block); });
  for_each_upper_block([](size_t block) noexcept { take_marks_of(block); });
}

uint64_t for_each_remembered(const Remembered& remembered, void* argument) noexcept {
  Scan scan(remembered, argument);
  for_each_lower_block([&](size_t block) noexcept {
    if (has_memory(arena.blocks[block]) && !shades::test(shading.covered, block)) scan.scan_shared(block);
  });
  for_each_upper_block([&](size_t block) noexcept {
    if (has_memory(arena.blocks[block]) && arena.blocks[block].kind == BlockKind::kHuge) scan.scan_huge(block);
  });
  return scan.pages();
}

}  // namespace freehold::heap
