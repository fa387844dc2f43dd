// The card table: barriers mark the pages of fields that get young references, and a short round of promotion patches what they lead to, and no more.
#include <atomic>
#include <cstdio>
#include <random>
#include <thread>
#include <vector>

#include "barrier_calls.h"
#include "heap/cards.h"
#include "heap/dedangling.h"
#include "heap/forwarding.h"
#include "heap/pins.h"
#include "heap/promotion.h"
#include "heap/promotion_counters.h"
#include "heap/promotion_policy.h"
#include "heap_fixture.h"
#include "runtime/memory_moves.h"

namespace freehold::testing {
namespace {

using core::arena;
using core::kPageSize;
using core::Object;
using heap::PromotionScope;

uint8_t& card_of(const void* address) { return arena.cards[arena.page_index(reinterpret_cast<uintptr_t>(address))]; }

bool is_marked_after(const void* address) {
  bool marked = card_of(address) != 0;
  card_of(address) = 0;
  return marked;
}

class CardsTest : public HeapTest {
 protected:
  void configure(core::Knobs& knobs) override { knobs.promotion = true; }

  static uint64_t* fields(Object* node) { return reinterpret_cast<uint64_t*>(node) + 1; }
  static uint64_t number(Object* object) { return reinterpret_cast<uint64_t>(object); }
  static uint64_t name(Object* object) { return heap::current_address(number(object)); }

  void fill(size_t bytes) {
    for (size_t done = 0; done < bytes; done += 40) allocate(&node_type.table);
  }

  // What is allocated from the next block on is young.
  void grow_old() {
    fill(core::kBlockSize);
    heap::remember_from(reinterpret_cast<uintptr_t>(arena.block_start(heap::lower_frontier())));
    Object* object = allocate(&node_type.table);
    while (!heap::is_young(number(object))) object = allocate(&node_type.table);
  }

  // Young blocks in which every n-th object lives.
  std::vector<Object*> young_blocks(size_t blocks, size_t n) {
    std::vector<Object*> all, kept;
    for (size_t bytes = 0; bytes < blocks * core::kBlockSize; bytes += 40) all.push_back(allocate(&node_type.table));
    fill(core::kBlockSize);
    for (size_t i = 0; i < all.size(); i++) {
      if (i % n == 0) kept.push_back(all[i]);
      else heap::delete_object(all[i]);
    }
    return kept;
  }
};

TEST_F(CardsTest, MarksAreTakenInOrder) {
  std::mt19937_64 random(7);
  Object* huge = allocate(&bytes_type.table, 40 << 20);
  size_t first = arena.page_index(reinterpret_cast<uintptr_t>(huge)) + 3, end = first + 5'000;
  for (size_t n : {0, 1, 9, 700, 20'000}) {
    std::vector<size_t> marked, taken;
    for (size_t i = 0; i < n; i++) heap::mark_card(first - 2 + random() % 5'004);
    for (size_t page = first; page < end; page++) {
      if (arena.cards[page] != 0) marked.push_back(page);
    }
    heap::take_cards(first, end, [&](size_t page) { taken.push_back(page); });
    EXPECT_EQ(taken, marked);
    heap::take_cards(first, end, [](size_t) { FAIL(); });
    for (size_t page : {first - 2, first - 1, end, end + 1}) arena.cards[page] = 0;
  }
}

TEST_F(CardsTest, NothingIsMarkedBeforeTheFirstWalk) {
  Object *object = allocate(&node_type.table), *other = allocate(&node_type.table);
  for (auto barrier : kBarriers) {
    barrier(fields(object), other);
    EXPECT_EQ(fields(object)[0], number(other));
    EXPECT_FALSE(is_marked_after(object));
  }
  EXPECT_FALSE(heap::is_young(number(other)));
}

TEST_F(CardsTest, ABarrierMarksThePageThatGetsAYoungReference) {
  Object *object = allocate(&node_type.table), *old = allocate(&node_type.table);
  Object* huge = allocate(&bytes_type.table, 4 << 20);
  void* far = reinterpret_cast<uint8_t*>(huge) + (3 << 20);
  grow_old();
  Object* young = allocate(&node_type.table);
  auto* copy = reinterpret_cast<void*>(number(young) | uint64_t{1} << 31);
  void* outside = nullptr;
  for (auto barrier : kBarriers) {
    for (void* location : {static_cast<void*>(fields(object)), static_cast<void*>(fields(young)), far}) {
      barrier(location, young);
      EXPECT_EQ(*static_cast<void**>(location), young);
      EXPECT_TRUE(is_marked_after(location));
      for (void* other : {static_cast<void*>(old), copy, static_cast<void*>(nullptr)}) {
        barrier(location, other);
        EXPECT_EQ(*static_cast<void**>(location), other);
        EXPECT_FALSE(is_marked_after(location));
      }
    }
    barrier(&outside, young);
    EXPECT_EQ(outside, young);
  }
}

TEST_F(CardsTest, ABlockMoveMarksItsPages) {
  Object *from = allocate(&bytes_type.table, 5 * kPageSize), *to = allocate(&bytes_type.table, 5 * kPageSize);
  auto* source = reinterpret_cast<uint8_t*>(from) + 16;
  auto* target = reinterpret_cast<uint8_t*>(to) + 16;
  RhBulkMoveWithWriteBarrier(target, source, 4 * kPageSize);
  EXPECT_FALSE(is_marked_after(target));
  grow_old();
  for (size_t offset : {size_t{0}, kPageSize, 2 * kPageSize, 3 * kPageSize}) card_of(target + offset) = 0;
  RhBulkMoveWithWriteBarrier(target + kPageSize, source, 2 * kPageSize);
  EXPECT_FALSE(is_marked_after(target));
  EXPECT_TRUE(is_marked_after(target + kPageSize));
  EXPECT_TRUE(is_marked_after(target + 2 * kPageSize));
  EXPECT_TRUE(is_marked_after(target + 3 * kPageSize - 8));
  EXPECT_FALSE(is_marked_after(target + 4 * kPageSize));
  uint64_t outside[2] = {};
  RhBulkMoveWithWriteBarrier(outside, source, sizeof outside);
}

// For rounds and for reclaims, from the lower of their bounds on; each clears its own.
TEST_F(CardsTest, ABarrierMarksForBoth) {
  Object *object = allocate(&node_type.table), *other = allocate(&node_type.table);
  heap::remember_for_reclaims(number(other));
  EXPECT_FALSE(heap::is_remembering());
  for (auto barrier : kBarriers) {
    for (uint8_t before : {0, 1, 0x40, 0x41, 0x80, 0x81, 0xc0, 0xc1}) {
      card_of(object) = before;
      barrier(fields(object), object);
      EXPECT_EQ(card_of(object), before);
      barrier(fields(object), other);
      EXPECT_EQ(card_of(object), heap::Card::kMarks | (before & heap::Card::kTaken));
    }
  }
  heap::remember_from(arena.start);
  for (auto barrier : kBarriers) {
    card_of(object) = 0;
    barrier(fields(object), object);
    EXPECT_EQ(card_of(object), heap::Card::kMarks);
  }
  heap::remember_from(UINT64_MAX);
  card_of(object) = 0;
  RhpAssignRef(fields(object), object);
  EXPECT_EQ(card_of(object), 0);
  EXPECT_FALSE(heap::is_young(number(other)));
}

// During a remap a barrier stores current names, and marks as ever.
TEST_F(CardsTest, ARemapsBarrierMarksToo) {
  Object* object = allocate(&node_type.table);
  grow_old();
  std::vector<Object*> kept = young_blocks(8, 10);
  Object* stays = allocate(&node_type.table);
  ASSERT_GT(heap::promote(PromotionScope::kSparse), 0u);
  Object* moved = kept[kept.size() / 2];
  ASSERT_NE(name(moved), number(moved));
  heap::remember_from(number(kept.front()));
  heap::set_remapping(true);
  for (auto barrier : kBarriers) {
    barrier(fields(object), moved);
    EXPECT_EQ(fields(object)[0], name(moved));
    card_of(object) = 0;
    barrier(fields(object), stays);
    EXPECT_EQ(fields(object)[0], number(stays));
    EXPECT_TRUE(is_marked_after(object));
    barrier(fields(object), nullptr);
    EXPECT_EQ(fields(object)[0], 0u);
  }
  heap::set_remapping(false);
}

// Another thread stores names that it reads where the walk has been, all the while that a round is under way: afterwards hardly any field has an old one.
TEST_F(CardsTest, ARoundPatchesWhatIsStoredMeanwhile) {
  core::knobs.stress.delay = 50;
  constexpr size_t kFields = 40'000;
  Object* huge = allocate(&references_type.table, 2 * kFields);  // it does not move
  uint64_t *read = fields(huge) + 1, *written = read + kFields;
  for (PromotionScope scope : {PromotionScope::kAll, PromotionScope::kYoung}) {
    std::vector<Object*> kept = young_blocks(40, 20);
    for (size_t i = 0; i < kFields; i++) RhpAssignRef(read + i, kept[i % kept.size()]);
    std::atomic<bool> ended{false};
    std::atomic<size_t> stored{0};
    std::thread program([&] {
      std::mt19937_64 random(11);
      while (!ended) {
        RhpAssignRef(written + random() % kFields, reinterpret_cast<void*>(__atomic_load_n(read + random() % kFields, __ATOMIC_RELAXED)));
        stored++;
      }
    });
    while (stored < 1'000) std::this_thread::yield();
    uint64_t moved = heap::promote(scope);
    ended = true;
    program.join();
    size_t stale = 0;
    for (size_t i = 0; i < 2 * kFields; i++) stale += read[i] != 0 && heap::current_address(read[i]) != read[i] ? 1 : 0;
    printf("%llu moved, %zu stored meanwhile, %zu stale\n", static_cast<unsigned long long>(moved), stored.load(), stale);
    EXPECT_GT(moved, 10'000u);
    EXPECT_GT(stored.load(), 2'000u);
    // A name may be on its way when the last page is looked at.
    EXPECT_LE(stale, 2u);
  }
}

TEST_F(CardsTest, AShortRoundPatchesWhatIsMarked) {
  std::vector<Object*> old;
  for (size_t i = 0; i < 2'000; i++) old.push_back(allocate(&node_type.table));
  Object *large = allocate(&references_type.table, 20'000), *huge = allocate(&references_type.table, 600'000);
  young_blocks(4, 10);
  ASSERT_GT(heap::promote(PromotionScope::kSparse), 0u);
  ASSERT_TRUE(heap::is_remembering());
  grow_old();

  std::vector<Object*> kept = young_blocks(30, 10);
  Object* dense = allocate(&node_type.table);
  for (size_t i = 1; i < kept.size(); i++) RhpAssignRef(fields(kept[i]), kept[i - 1]);
  struct Field {
    uint64_t* slot;
    Object* object;
  };
  std::vector<Field> marked;
  auto store = [&](uint64_t* slot, Object* object) {
    RhpAssignRef(slot, object);
    marked.push_back({slot, object});
  };
  for (size_t i = 0; i < 500; i++) store(fields(old[i]), kept[i * 7]);
  for (size_t i = 0; i < 20'000; i += 97) store(reinterpret_cast<uint64_t*>(large) + 2 + i, kept[i]);
  for (size_t i = 0; i < 600'000; i += 4'001) store(reinterpret_cast<uint64_t*>(huge) + 2 + i, kept[i / 20]);
  // One of which nobody was told, and one that leads to what stays.
  uint64_t* unmarked = fields(old[1'500]);
  *unmarked = number(kept[100]);
  ASSERT_EQ(card_of(unmarked), 0);
  uint64_t* stays = fields(old[1'900]);
  RhpAssignRef(stays, dense);

  uint64_t short_rounds = heap::promotion_counters.short_rounds, cards = heap::promotion_counters.cards;
  ASSERT_GT(heap::promote(PromotionScope::kYoung), 0u);
  EXPECT_EQ(heap::promotion_counters.short_rounds, short_rounds + 1);
  EXPECT_GT(heap::promotion_counters.cards, cards + 100);
  size_t moved = 0;
  for (const Field& field : marked) {
    moved += name(field.object) != number(field.object);
    EXPECT_EQ(*field.slot, name(field.object));
  }
  EXPECT_GT(moved, marked.size() / 2);
  for (size_t i = 1; i < kept.size(); i++) EXPECT_EQ(*reinterpret_cast<uint64_t*>(heap::current_address(number(kept[i]) + 8)), name(kept[i - 1]));
  EXPECT_EQ(*unmarked, number(kept[100]));
  EXPECT_NE(*unmarked, name(kept[100]));
  EXPECT_EQ(*stays, number(dense));
  EXPECT_EQ(card_of(stays) & heap::Card::kForRounds, heap::Card::kForRounds);
  expect_valid("after a short round");

  // A walk over the whole heap finds it, and forgets the marks.
  young_blocks(4, 10);
  ASSERT_GT(heap::promote(PromotionScope::kSparse), 0u);
  EXPECT_EQ(heap::promotion_counters.short_rounds, short_rounds + 1);
  EXPECT_EQ(*unmarked, name(kept[100]));
  EXPECT_EQ(card_of(stays) & heap::Card::kForRounds, 0);
}

// Short rounds leave old blocks as they are. Where these hold too much, a round goes through the whole heap, but not where there is nothing old to be won.
TEST_F(CardsTest, OldBlocksThatHoldTooMuchHaveTheirTurn) {
  young_blocks(4, 10);
  ASSERT_GT(heap::promote(PromotionScope::kSparse), 0u);
  grow_old();
  young_blocks(40, 10);
  ASSERT_TRUE(heap::are_old_blocks_due());
  ASSERT_GT(heap::promote(PromotionScope::kFragmented), 0u);
  EXPECT_EQ(heap::promotion_counters.short_rounds, 1u) << "all of it is young";
  young_blocks(20, 10);
  grow_old();
  young_blocks(30, 10);
  ASSERT_TRUE(heap::are_old_blocks_due());
  ASSERT_GT(heap::promote(PromotionScope::kFragmented), 0u);
  EXPECT_EQ(heap::promotion_counters.short_rounds, 1u) << "two fifths of it are old";
  EXPECT_FALSE(heap::are_old_blocks_due());
  expect_valid("after both");
}

// What a pin has kept in its block is still young, and is found by the next short round.
TEST_F(CardsTest, ABlockThatWasRefusedIsStillRemembered) {
  Object* object = allocate(&node_type.table);
  young_blocks(4, 10);
  ASSERT_GT(heap::promote(PromotionScope::kSparse), 0u);
  grow_old();
  std::vector<Object*> kept = young_blocks(30, 10);
  Object* pinned = kept[kept.size() / 2];
  RhpAssignRef(fields(object), pinned);
  heap::add_handle_pin(pinned);
  ASSERT_GT(heap::promote(PromotionScope::kYoung), 0u);
  EXPECT_EQ(heap::promotion_counters.short_rounds, 1u);
  EXPECT_EQ(name(pinned), number(pinned));
  heap::remove_handle_pin(pinned);
  young_blocks(30, 10);
  ASSERT_GT(heap::promote(PromotionScope::kYoung), 0u);
  EXPECT_EQ(heap::promotion_counters.short_rounds, 2u);
  EXPECT_NE(name(pinned), number(pinned));
  EXPECT_EQ(fields(object)[0], name(pinned));
}

}  // namespace
}  // namespace freehold::testing
