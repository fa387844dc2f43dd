// The lists of the markers beside the threads are short (heap/marking_bounds.h): whatever finds no place is found all the same, by one marker or by several (heap/marking_team.h).
#include <random>
#include <utility>

#include "concurrent_reclaim_fixture.h"

namespace freehold::testing::beside {
namespace {

using MarkingListsTest = ConcurrentReclaimTest;

// Arrays that have blocks of their own, more than there is room for on any list.
TEST_F(MarkingListsTest, HugeArraysThatAreMetAtOnce) {
  heap::marking_bounds = {1, 0, 0, 0, 1};
  for (bool finalizable : {false, true}) {
    std::vector<Object*> leaves;
    constexpr uint32_t kArrays = 40;
    Object* top = allocate(&references_type.table, kArrays);
    for (size_t i = 0; i < kArrays; i++) {
      Object* huge = allocate(&references_type.table, 200'000);
      leaves.push_back(node());
      store(huge, 2 + 100'000 + i, leaves.back());
      store(top, 2 + i, huge);
    }
    if (finalizable) node({top}, &finalizable_node_type.table);
    else mine_ = {top};
    uint64_t again = heap::concurrent_reclaim_counters.blocks_again.load();
    EXPECT_EQ(heap::reclaim(), 0);
    EXPECT_GT(heap::concurrent_reclaim_counters.blocks_again.load(), again);
    for (Object* leaf : leaves) EXPECT_FALSE(heap::is_deleted(leaf));
  }
}

// A tree in which each node has three: far more than the stack holds are known at a time. And a list, of which each leads to the next.
TEST_F(MarkingListsTest, MoreThanTheStackHolds) {
  constexpr uint32_t kMany = 3'000'000;
  Object* array = allocate(&references_type.table, kMany);
  for (uint32_t i = 0; i < kMany; i++) words(array)[2 + i] = address(node({node()}));
  mine_ = {array};
  uint64_t live = heap::thread_totals().live_bytes();
  EXPECT_EQ(heap::reclaim(), 0);
  EXPECT_EQ(heap::thread_totals().live_bytes(), live);
  mine_.clear();
  EXPECT_EQ(heap::reclaim(), 1 + 2 * int64_t{kMany});
}

TEST_F(MarkingListsTest, MoreThanTheQueueHolds) {
  static Object* array;
  constexpr uint32_t kMany = heap::MarkingBounds::kQueue + 100'000;
  static std::vector<Object*> hidden;
  array = allocate(&references_type.table, kMany);
  hidden.clear();
  for (uint32_t i = 0; i < kMany; i++) hidden.push_back(node({node()}));
  mine_ = {array};
  in_stop = [] {
    if (stops != 2) return;
    for (size_t i = 0; i < hidden.size(); i++) store(array, 2 + i, hidden[i]);
  };
  uint64_t live = heap::thread_totals().live_bytes();
  EXPECT_EQ(heap::reclaim(), 0);
  EXPECT_EQ(heap::thread_totals().live_bytes(), live);
}

// A list needs no room, however long: each object leads to the next.
TEST_F(MarkingListsTest, AListNeedsNoStack) {
  heap::marking_bounds = {1, 0, 0, 0, 1};
  for (bool finalizable : {false, true}) {
    Object *first = finalizable ? node({}, &finalizable_node_type.table) : node(), *last = first;
    for (int i = 0; i < 300'000; i++) {
      Object* next = node();
      store(last, 1, next);
      last = next;
    }
    if (!finalizable) mine_ = {first};
    EXPECT_EQ(heap::reclaim(), 0);
    EXPECT_FALSE(heap::is_deleted(last));
    EXPECT_EQ(heap::concurrent_reclaim_counters.blocks_again.load(), 0u);
    EXPECT_EQ(heap::concurrent_reclaim_counters.abandoned.load(), 0u);
  }
}

// Trees of any shape with less room than they have levels, from roots, from what is finalizable, and from what is stored meanwhile.
TEST_F(MarkingListsTest, WhateverTheListsHold) {
  std::mt19937_64 random(seed_of_run());
  constexpr heap::MarkingBounds kBounds[] = {{1, 0, 0, 0, 1}, {2, 1, 1, 1, 2}, {3, 4096, 2, 100, 50}, {2048, 0, 0, 1 << 20, 1}, {1, 5, 2048, 7, 1000}};
  static Object* stored[2];
  for (const heap::MarkingBounds& bounds : kBounds) {
    heap::marking_bounds = bounds;
    auto tree = [&](Object* root, size_t size) {
      std::vector<Object*> all = {root};
      for (size_t i = 0; i < size; i++) {
        Object* parent = all[random() % all.size()];
        Object* child = random() % 8 == 0 ? allocate(&references_type.table, static_cast<uint32_t>(random() % (random() % 64 == 0 ? 20'000 : 40))) : node();
        size_t word = parent->type->has_component_size() ? 2 + random() % std::max(parent->length, 1u) : 1 + random() % 3;
        if (parent->type->has_component_size() && parent->length == 0) continue;
        if (load(parent, word) == nullptr) store(parent, word, child), all.push_back(child);
      }
      return root;
    };
    Object* root = tree(allocate(&references_type.table, 50'000), 40'000);
    Object* finalizable = tree(node({}, &finalizable_node_type.table), 20'000);
    for (Object*& each : stored) each = tree(node(), 3'000);
    mine_ = {root, finalizable, stored[0], stored[1]};
    heap::reclaim();  // what found no place in a tree
    mine_ = {root};
    stops = 0;
    in_stop = [] {
      if (stops != 2) return;
      for (size_t i = 0; i < 2; i++) store(roots[0]->front(), 2 + 49'990 + i, stored[i]);
    };
    uint64_t live = heap::thread_totals().live_bytes();
    EXPECT_EQ(heap::reclaim(), 0);
    EXPECT_EQ(heap::thread_totals().live_bytes(), live);
    EXPECT_EQ(heap::finalizable_count(), 1u);
    in_stop = nullptr;
    mine_.clear();
    while (heap::next_finalizable() != 0) {}
    heap::reclaim();
    EXPECT_EQ(heap::reclaim(), 0);
    EXPECT_EQ(heap::concurrent_reclaim_counters.abandoned.load(), 0u);
  }
  EXPECT_GT(heap::concurrent_reclaim_counters.blocks_again.load(), 0u);
  expect_valid("after all");
}

// As many markers as one asks for: what they reach is the same.
TEST_F(MarkingListsTest, SeveralMarkers) {
  core::knobs.reclaim_workers = 4;
  constexpr uint32_t kMany = 200'000;
  for (int cycle = 0; cycle < 5; cycle++) {
    Object* array = allocate(&references_type.table, kMany);
    for (uint32_t i = 0; i < kMany; i++) store(array, 2 + i, node({node({node()}), i % 3 != 0 ? load(array, 2 + i / 2) : nullptr}));
    int64_t lost = 0;
    for (int i = 0; i < 1'000; i++, lost += 2) node({node({array})});
    mine_ = {array};
    uint64_t live = heap::thread_totals().live_bytes();
    EXPECT_EQ(heap::reclaim(), lost);
    EXPECT_EQ(heap::thread_totals().live_bytes(), live - static_cast<uint64_t>(lost) * 40);
    mine_.clear();
    EXPECT_EQ(heap::reclaim(), 1 + 3 * int64_t{kMany});
  }
  EXPECT_EQ(heap::concurrent_reclaim_counters.abandoned.load(), 0u);
  expect_valid("after all");
}

// A container may have a quota of less time than its processors have.
TEST_F(MarkingListsTest, MarkersAreAQuarterOfTheProcessors) {
  core::knobs.reclaim_workers = 0;
  for (auto [processors, markers] : {std::pair<size_t, size_t>{1, 1}, {3, 1}, {8, 2}, {100, 25}, {1'000, 64}}) {
    heap::set_process_processors(processors);
    EXPECT_EQ(heap::marking_workers(), markers);
  }
  core::knobs.reclaim_workers = 7;
  EXPECT_EQ(heap::marking_workers(), 7u);
}

}  // namespace
}  // namespace freehold::testing::beside
