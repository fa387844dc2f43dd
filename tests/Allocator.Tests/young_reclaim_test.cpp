// Reclaims of what is younger than the last one (heap/young_blocks.h), beside threads.
#include <sys/wait.h>
#include <unistd.h>

#include <mutex>
#include <string>

#include "concurrent_reclaim_fixture.h"
#include "heap/card_roots.h"
#include "heap/promotion_counters.h"
#include "heap/root_support.h"
#include "heap/unreached_objects.h"
#include "heap/young_blocks.h"

namespace freehold::testing::beside {
namespace {

using core::arena;
using heap::ReclaimScope;

constexpr uint32_t kHuge = 600'000;

class YoungReclaimTest : public ConcurrentReclaimTest {
 protected:
  static bool is_young(const Object* object) { return heap::is_young_block(arena.block_index(address(object))); }
  static uint8_t card_of(const void* place) { return arena.cards[arena.page_index(reinterpret_cast<uintptr_t>(place))]; }

  // What is there is old; what is allocated next is young.
  void grow_old() {
    ASSERT_GE(heap::reclaim(), 0);
    grow_young();
    stops = 0;
  }
  // Behind what is left of a block that has begun before.
  void grow_young() {
    while (!is_young(node())) {}
  }
  static int64_t reclaim_young() {
    uint64_t before = heap::reachability_counters.young.load();
    int64_t deleted = heap::reclaim(ReclaimScope::kYoung);
    EXPECT_EQ(heap::reachability_counters.young.load(), before + 1);
    return deleted;
  }
};

TEST_F(YoungReclaimTest, TheFirstOneIsOfAllObjects) {
  node();
  EXPECT_EQ(heap::reclaim(ReclaimScope::kYoung), 1);
  EXPECT_EQ(heap::reclaims(), 1u);
  EXPECT_EQ(heap::reachability_counters.young.load(), 0u);
  EXPECT_TRUE(heap::are_blocks_young());
}

TEST_F(YoungReclaimTest, NotWithoutTheSetting) {
  core::knobs.reclaim_young = false;
  for (int i = 0; i < 3; i++) EXPECT_GE(heap::reclaim(ReclaimScope::kYoung), 0);
  EXPECT_EQ(heap::reclaims(), 3u);
  EXPECT_FALSE(heap::is_marking_cards());
}

TEST_F(YoungReclaimTest, OnlyYoungObjectsGo) {
  Object *old = node(), *old_lost = node();
  mine_ = {old, old_lost};
  grow_old();
  mine_ = {old};
  Object *kept = node({node()}), *lost = node({node({old})}), *large = allocate(&bytes_type.table, 100'000), *huge = allocate(&bytes_type.table, 5'000'000);
  store(old, 1, kept);
  EXPECT_TRUE(is_young(kept) && is_young(lost) && is_young(large));
  EXPECT_GE(reclaim_young(), 3);
  EXPECT_EQ(stops, 2);
  for (Object* object : {lost, large}) EXPECT_TRUE(heap::is_deleted(object));
  for (Object* object : {old, kept, load(kept, 1), old_lost, huge}) EXPECT_FALSE(heap::is_deleted(object));
  // They are old from now on.
  EXPECT_FALSE(is_young(kept));
  store(old, 1, nullptr);
  EXPECT_EQ(reclaim_young(), 0);
  EXPECT_FALSE(heap::is_deleted(kept));
  EXPECT_GE(heap::reclaim(), 4);
  for (Object* object : {kept, old_lost, huge}) EXPECT_TRUE(heap::is_deleted(object));
  expect_valid("after the deletions");
}

// What is old leads to what is young: by stores and by moves, into small, large and huge objects, by dependent handles, and from outside the heap.
TEST_F(YoungReclaimTest, WhatOldObjectsLeadToStays) {
  Object *old = node(), *large = allocate(&references_type.table, 20'000), *huge = allocate(&references_type.table, kHuge), *primary = node();
  mine_ = {old, large, huge, primary};
  static uint64_t memory[6];
  memset(memory, 0, sizeof memory);
  memory[1] = reinterpret_cast<uint64_t>(&node_type.table);
  frozen.emplace_back(reinterpret_cast<uint8_t*>(memory + 1), reinterpret_cast<uint8_t*>(memory + 6));
  for (int cycle = 0; cycle < 3; cycle++) {
    grow_old();
    std::vector<Object*> young;
    auto another = [&]() {
      young.push_back(node({node()}));
      return young.back();
    };
    store(old, 1, another());
    for (uint32_t i = 0; i < 20'000; i += 3'000) store(large, 2 + i, another());
    for (uint32_t i = 0; i < kHuge; i += 90'000) store(huge, 2 + i, another());
    for (size_t i : {size_t{7}, size_t{kHuge - 1}}) {
      words(huge)[2 + i] = address(another());
      freehold_after_move(reinterpret_cast<uint8_t*>(words(huge) + 2 + i), nullptr, sizeof(uint64_t));
    }
    store(old, 2, node());
    heap::list_finalizable(address(large), 11, another());
    memory[3] = address(another());
    weak = {address(another()), address(node())};
    store(old, 3, young.back());
    dependents = {{address(primary), address(another())}, {address(young[0]), address(another())}, {address(node()), address(node())}};
    Object* on_stack = another();
    roots[0]->push_back(on_stack);
    store(old, 2, nullptr);
    EXPECT_GE(reclaim_young(), 4);
    for (Object* object : young) EXPECT_FALSE(heap::is_deleted(object) || heap::is_deleted(load(object, 1)));
    EXPECT_EQ(weak[1], 0u);
    EXPECT_NE(weak[0], 0u);
    EXPECT_EQ(dependents[2].primary, 0u);
    // Old by now: none needs a mark of its own, nor what is stored there.
    EXPECT_EQ(reclaim_young(), 0);
    for (Object* object : young) EXPECT_FALSE(heap::is_deleted(object));
    grow_young();
    for (Object* object : young) store(object, 2, node());
    reclaim_young();
    for (Object* object : young) EXPECT_FALSE(heap::is_deleted(load(object, 2)));
  }
  expect_valid("after all");
}

TEST_F(YoungReclaimTest, FinalizersRunBeforeTheDeletion) {
  Object *old = node(), *old_needed = node();
  mine_ = {old, old_needed};
  grow_old();
  Object *needed = node({old_needed}), *finalizable = node({needed}, &finalizable_node_type.table), *lost = node();
  store(old_needed, 1, node());
  weak = {address(finalizable), address(needed)};
  long_weak = {address(finalizable), address(lost)};
  reclaim_young();
  EXPECT_TRUE(heap::is_deleted(lost));
  EXPECT_FALSE(heap::is_deleted(finalizable) || heap::is_deleted(needed) || heap::is_deleted(load(old_needed, 1)));
  EXPECT_EQ(weak, (std::vector<uint64_t>{0, 0}));
  EXPECT_EQ(long_weak, (std::vector<uint64_t>{address(finalizable), 0}));
  EXPECT_EQ(heap::next_finalizable(), address(finalizable));
}

// The program may go on from a deleted object as long as it can be read.
TEST_F(YoungReclaimTest, WhatADeletedOldObjectLeadsToStays) {
  Object *old = node(), *neighbour = node();
  mine_ = {old, neighbour};
  grow_old();
  Object* young = node();
  store(old, 1, young);
  ASSERT_EQ(heap::delete_object(old), DeleteResult::kDeleted);
  reclaim_young();
  EXPECT_FALSE(heap::is_deleted(young));
}

// A store that marked nothing: what no barrier does, and the check of FREEHOLD_VERIFY is for.
TEST_F(YoungReclaimTest, TheCheckFindsAMissingMark) {
  static Object* old;
  old = node();
  mine_ = {old};
  grow_old();
  Object* young = node();
  words(old)[1] = address(young);
  EXPECT_DEATH(heap::reclaim(ReclaimScope::kYoung), "has lost an object");
}

// A field is stored to in the first stop's shadow: its page had a mark before, and has one for the next reclaim.
TEST_F(YoungReclaimTest, MarksAreTakenInTheStop) {
  static Object *old, *second;
  static heap::AllocationContext* context;
  context = &context_;
  old = node();
  mine_ = {old};
  grow_old();
  store(old, 1, node());
  EXPECT_EQ(card_of(words(old) + 1) & heap::Card::kForReclaims, heap::Card::kForReclaims);
  while_marking = [] {
    EXPECT_EQ(card_of(words(old) + 1) & (heap::Card::kForReclaims | heap::Card::kTaken), heap::Card::kTaken);
    do second = allocate_with(context, &node_type.table);
    while (!is_young(second));
    store(old, 2, second);
  };
  reclaim_young();
  EXPECT_EQ(while_marking, nullptr);
  EXPECT_FALSE(heap::is_deleted(second));
  EXPECT_TRUE(is_young(second));
  reclaim_young();
  EXPECT_FALSE(heap::is_deleted(second) || heap::is_deleted(load(old, 1)));
  EXPECT_FALSE(is_young(second));
}

// Rounds of promotion clear their own marks.
TEST_F(YoungReclaimTest, RoundsLeaveTheMarks) {
  Object* old = node();
  mine_ = {old};
  grow_old();
  Object* young = node();
  store(old, 1, young);
  size_t page = arena.page_index(address(old));
  heap::take_cards(page / 8 * 8, page / 8 * 8 + 8, [](size_t) {});
  EXPECT_EQ(card_of(old), heap::Card::kForReclaims);
  heap::mark_card(page);
  EXPECT_EQ(card_of(old), heap::Card::kMarks);
  heap::take_cards(page, page + 1, [](size_t) {});
  reclaim_young();
  EXPECT_FALSE(heap::is_deleted(young));
}

class YoungReclaimOfCopiesTest : public YoungReclaimTest {
 protected:
  void configure(core::Knobs& knobs) override {
    YoungReclaimTest::configure(knobs);
    knobs.promotion = true;
  }
};

// The page of a copy is marked, as the one that the object came from may have been.
TEST_F(YoungReclaimOfCopiesTest, WhatCopiesLeadToStays) {
  std::vector<Object*> all;
  for (size_t bytes = 0; bytes < 4 * core::kBlockSize; bytes += 40) all.push_back(node());
  std::vector<Object*> kept;
  for (size_t i = 0; i < all.size(); i += 50) kept.push_back(all[i]);
  mine_ = kept;
  grow_old();
  std::vector<Object*> young;
  for (Object* object : kept) {
    young.push_back(node());
    store(object, 1, young.back());
  }
  // As a remap would.
  ASSERT_GT(heap::promote(heap::PromotionScope::kSparse), kept.size() / 2);
  for (Object*& object : mine_) object = reinterpret_cast<Object*>(heap::current_address(address(object)));
  size_t moved = 0;
  for (size_t i = 0; i < kept.size(); i++) moved += mine_[i] != kept[i] ? 1 : 0;
  EXPECT_GT(moved, kept.size() / 2);
  reclaim_young();
  for (Object* object : young) ASSERT_FALSE(heap::is_deleted(object));
  EXPECT_GT(heap::concurrent_reclaim_counters.young_cards.load(), 0u);
  expect_valid("after all");
}

// The cost follows what is young.
TEST_F(YoungReclaimTest, OldObjectsAreNotMarked) {
  constexpr uint32_t kMany = 100'000;
  Object* array = allocate(&references_type.table, kMany);
  mine_ = {array};
  for (uint32_t i = 0; i < kMany; i++) store(array, 2 + i, node());
  grow_old();
  uint64_t before = heap::concurrent_reclaim_counters.scanned.load();
  EXPECT_GE(before, kMany);
  for (uint32_t i = 0; i < 1'000; i++) store(array, 2 + i, node());
  reclaim_young();
  EXPECT_EQ(heap::concurrent_reclaim_counters.young_scanned.load(), heap::concurrent_reclaim_counters.scanned.load() - before);
  EXPECT_LT(heap::concurrent_reclaim_counters.young_scanned.load(), 3'000u);
  EXPECT_LT(heap::concurrent_reclaim_counters.young_cards.load(), 10u);
}

// However many references they hold: what one page leads to is marked before the next.
TEST_F(YoungReclaimTest, MarkedPagesNeedNoRoom) {
  heap::marking_bounds = {600, 0, 0, heap::MarkingBounds::kQueue, 1};
  constexpr uint32_t kMany = 100'000;
  Object *large = allocate(&references_type.table, 50'000), *huge = allocate(&references_type.table, kHuge);
  mine_ = {large, huge};
  grow_old();
  for (uint32_t i = 0; i < kMany; i++) store(i % 2 == 0 ? large : huge, 2 + i / 2, node({node()}));
  uint64_t live = heap::thread_totals().live_bytes();
  int64_t deleted = reclaim_young();
  EXPECT_EQ(heap::thread_totals().live_bytes(), live - static_cast<uint64_t>(deleted) * 40);
  EXPECT_EQ(heap::concurrent_reclaim_counters.blocks_again.load(), 0u);
  for (uint32_t i = 0; i < kMany; i++) ASSERT_FALSE(heap::is_deleted(load(load(i % 2 == 0 ? large : huge, 2 + i / 2), 1)));
}

TEST_F(YoungReclaimTest, WithoutMemoryAllObjectsAreLookedAt) {
  Object* old = node();
  mine_ = {old};
  for (const char* call : {"mmap", "mprotect"}) {
    for (int i = 1; i <= 12; i++) {
      grow_old();
      Object *kept = node(), *lost = node();
      store(old, 1, kept);
      heap::forget_marks();  // as in the child of a fork
      ASSERT_TRUE(os::inject_failures((std::string(call) + ":" + std::to_string(i)).c_str()));
      bool done = heap::reclaim(ReclaimScope::kYoung) >= 0;
      ASSERT_TRUE(os::inject_failures("mmap:18446744073709551615,mprotect:18446744073709551615"));
      EXPECT_FALSE(heap::is_marking());
      EXPECT_EQ(heap::is_deleted(lost), done) << call << i;
      EXPECT_FALSE(heap::is_deleted(kept)) << call << i;
    }
  }
  EXPECT_GT(heap::concurrent_reclaim_counters.abandoned.load(), 0u);
}

TEST_F(YoungReclaimTest, WithoutMemoryForTheBitsNoneIsYoung) {
  mine_ = {node()};
  for (const char* failure : {"mmap:1+", "mprotect:1"}) {
    ASSERT_TRUE(os::inject_failures(failure));
    heap::reclaim();
    ASSERT_TRUE(os::inject_failures("mmap:18446744073709551615,mprotect:18446744073709551615"));
    EXPECT_FALSE(heap::are_blocks_young()) << failure;
  }
  EXPECT_GE(heap::reclaim(ReclaimScope::kYoung), 0);
  EXPECT_EQ(heap::reachability_counters.young.load(), 0u);
  EXPECT_TRUE(heap::are_blocks_young());
}

// The child goes on with the marks as they are: those that the parent's marker had taken are of no use to it, as what they told of is old.
TEST_F(YoungReclaimTest, ForksInTheMiddle) {
  static Object *old, *young, *lost;
  static heap::AllocationContext* context;
  context = &context_;
  old = node();
  mine_ = {old};
  grow_old();
  young = node();
  store(old, 1, young);
  lost = node();
  static int status;
  status = -1;
  while_marking = [] {
    heap::PromotionPause pause;
    pid_t child;
    {
      std::unique_lock stop(running);
      heap::MaintenancePause maintenance;
      child = fork();
      if (child == 0) heap::keep_pauses_in_child();
    }
    if (child == 0) {
      alone = true;
      heap::forget_barrier_writer();
      heap::forget_marking();
      heap::promotion_lock.unlock();
      Object* next;
      do next = allocate_with(context, &node_type.table);
      while (!is_young(next));
      Object* gone = allocate_with(context, &node_type.table);
      store(young, 1, next);
      bool keeps = reclaim_young() >= 1 && !heap::is_deleted(next) && !heap::is_deleted(young) && heap::is_deleted(gone);
      bool deletes = heap::reclaim() >= 1 && heap::is_deleted(lost) && !heap::is_deleted(next);
      _exit(keeps && deletes && !HasFailure() ? 0 : 1);
    }
    waitpid(child, &status, 0);
  };
  EXPECT_GE(reclaim_young(), 1);
  EXPECT_EQ(status, 0);
  EXPECT_FALSE(heap::is_deleted(young));
  EXPECT_TRUE(heap::is_deleted(lost));
}

}  // namespace
}  // namespace freehold::testing::beside
