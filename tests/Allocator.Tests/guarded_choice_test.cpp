// FREEHOLD_SAMPLE: which objects are chosen, and what lies between those that are not.
#include "heap/guarded_choice.h"

#include <random>

#include "guarded_fixture.h"

namespace freehold::testing {
namespace {

// One in N, and from N = 1,000 on whatever the sizes are.
TEST_F(GuardedTest, EachObjectIsAsLikelyToBeChosen) {
  constexpr int kObjects = 3'000'000;
  for (uint64_t rate : {20u, 100u, 1'000u}) {
    core::knobs.sample = rate;
    heap::seed_guarded_choice(12345);
    heap::thread_heap.guard_countdown = 0;
    std::mt19937 random(7);
    int made[3] = {}, chosen[3] = {};
    for (int i = 0; i < kObjects; i++) {
      size_t kind = random() % 3;
      Object* object = kind == 0 ? allocate(&small_type.table) : allocate(&bytes_type.table, kind == 1 ? 60 : 500);
      made[kind]++;
      if (is_guarded(object)) chosen[kind]++;
      heap::delete_object(object);
    }
    EXPECT_NEAR(chosen[0] + chosen[1] + chosen[2], static_cast<double>(kObjects) / static_cast<double>(rate), kObjects * 0.05 / static_cast<double>(rate))
        << rate;
    for (int kind = 0; kind < 3 && rate >= 1'000; kind++) {
      double expected = static_cast<double>(made[kind]) / static_cast<double>(rate);
      EXPECT_NEAR(chosen[kind], expected, expected * 0.15) << "rate " << rate << ", kind " << kind;
    }
  }
}

// Where the turns of a loop fill windows without a rest, the same objects would be met at the end of each: the array for ever, which is none of these.
TEST_F(GuardedTest, ALoopWithALargeArrayHasItsShare) {
  struct Loop {
    uint32_t array, size;
    int each, turns;
  };
  for (Loop loop : {Loop{7'232, 96, 10, 200'000}, Loop{32'000, 48, 16, 120'000}}) {
    core::knobs.sample = 1'000;
    heap::seed_guarded_choice(12345);
    int chosen = 0;
    for (int turn = 0; turn < loop.turns; turn++) {
      heap::delete_object(allocate(&bytes_type.table, loop.array - 24));
      for (int i = 0; i < loop.each; i++) {
        Object* object = allocate(&bytes_type.table, loop.size - 24);
        chosen += is_guarded(object) ? 1 : 0;
        heap::delete_object(object);
      }
    }
    double expected = loop.turns / 1'000 * loop.each;
    EXPECT_NEAR(chosen, expected, expected * 0.2) << loop.array;
  }
}

// Arrays that have pages of their own, as the assembly asks for them, end no window.
TEST_F(GuardedTest, ALoopWithArraysOutsideOfWindowsHasItsShare) {
  core::knobs.sample = 1'000;
  heap::seed_guarded_choice(54321);
  int chosen = 0;
  for (int turn = 0; turn < 3'000; turn++) {
    for (uint32_t array : {40'000u, 60'000u}) {
      heap::extend(&context_, array);
      heap::delete_object(allocate(&bytes_type.table, array - 24));
    }
    for (int i = 0; i < 50; i++) {
      Object* object = allocate(&bytes_type.table, 96 - 24);
      chosen += is_guarded(object) ? 1 : 0;
      heap::delete_object(object);
    }
  }
  EXPECT_NEAR(chosen, 150, 50);
}

// Choices that are owed at once leave no gap that a page's first object cannot reach over.
TEST_F(GuardedTest, WhatIsOwedLeavesNoGapThatPagesCannotTell) {
  core::knobs.sample = 10;
  heap::seed_guarded_choice(777);
  std::vector<Object*> kept;
  int owed = 0;
  for (int turn = 0; turn < 20; turn++) {
    for (int i = 0; i < 500; i++) {
      // The chunk has room for a filler of that size.
      if (owed <= turn && context_.chunk_end != nullptr && static_cast<uint8_t*>(context_.chunk_end) - context_.alloc_ptr > 400 << 10) {
        thread_heap_owes(300 << 10);
        owed++;
      }
      kept.push_back(allocate(&bytes_type.table, 4'000 - 24));
    }
    heap::maintain(true, false);
    expect_valid("after a thorough round");
    for (Object* object : kept) ASSERT_TRUE(is_readable(object));
  }
  EXPECT_GT(owed, 0);
}

}  // namespace
}  // namespace freehold::testing
