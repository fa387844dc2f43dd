// Deletions of huge objects: what the kernel takes long for is done where a stop of the threads need not wait (heap/huge_ends.h).
#include "heap/huge_ends.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "heap/block_lists.h"
#include "heap/dedangling.h"
#include "heap/fork.h"
#include "heap/phases.h"
#include "heap/promotion_counters.h"
#include "reachability_fixture.h"

namespace freehold::testing {
namespace {

using heap::DeleteResult;

class HugeEndsTest : public ReachabilityTest {
 protected:
  static constexpr uint32_t kBytes = 48 << 20;

  void TearDown() override {
    heap::set_pin_scanner(nullptr);
    ReachabilityTest::TearDown();
  }

  // With memory under each of its pages.
  Object* huge(uint32_t bytes = kBytes) {
    Object* object = allocate(&bytes_type.table, bytes);
    auto* first = reinterpret_cast<uint8_t*>(object);
    for (size_t at = core::kPageSize; at < bytes; at += core::kPageSize) first[at] = 1;
    return object;
  }
  static size_t memory_of(Object* object, uint32_t bytes = kBytes) {
    return bytes_with_memory(core::arena.page_start(core::arena.page_index(address(object)) + 1), bytes - 2 * core::kPageSize);
  }
  static void expect_gone(Object* object) {
    EXPECT_EQ(heap::classify(object), heap::AddressState::kDead);
    EXPECT_EQ(memory_of(object), 0u);
    EXPECT_EQ(heap::block_counters.huge_bytes.load(), 0u);
    EXPECT_FALSE(heap::has_listed_huge());
    EXPECT_EQ(heap::block_counters.huge_objects.load(), 0u);
    EXPECT_EQ(heap::delete_object(object), core::knobs.debug ? DeleteResult::kAlreadyDeleted : DeleteResult::kDangling);
    expect_valid("after the end");
  }
};

TEST_F(HugeEndsTest, TheMemoryOfMuchGoesBehindTheDeletion) {
  Object* object = huge();
  EXPECT_EQ(heap::delete_object(object), DeleteResult::kMemoryWaits);
  EXPECT_TRUE(heap::is_deleted(object));
  EXPECT_GT(memory_of(object), kBytes / 2) << "the kernel has freed all pages within the deletion";
  EXPECT_GE(heap::block_counters.huge_bytes.load(), kBytes) << "what is still there counts";
  EXPECT_GE(heap::resident_memory(), kBytes);
  EXPECT_LT(heap::memory_footprint(), kBytes) << "no reason to compact, to reclaim or to slow threads down";
  EXPECT_EQ(heap::delete_object(object), DeleteResult::kAlreadyDeleted);
  expect_valid("while the memory waits");
  heap::end_listed_huge();
  expect_gone(object);
}

TEST_F(HugeEndsTest, TheMemoryOfLittleGoesAtOnce) {
  Object* object = huge(20 << 20);
  EXPECT_EQ(heap::delete_object(object), DeleteResult::kDeleted);
  EXPECT_EQ(memory_of(object, 20 << 20), 0u);
}

TEST_F(HugeEndsTest, MaintenanceEndsWhatNobodyCameFor) {
  Object* object = huge();
  EXPECT_EQ(heap::delete_object(object), DeleteResult::kMemoryWaits);
  heap::maintain(false, false);
  expect_gone(object);
}

TEST_F(HugeEndsTest, WhoHasOtherWorkEndsWhatNobodyElseDoes) {
  Object* object = huge();
  heap::end_listed_huge_unless_busy();
  EXPECT_EQ(heap::delete_object(object), DeleteResult::kMemoryWaits);
  EXPECT_TRUE(heap::has_listed_huge());
  heap::end_listed_huge_unless_busy();
  expect_gone(object);
}

TEST_F(HugeEndsTest, TheOldestGoesFirst) {
  Object* objects[] = {huge(), huge(), huge()};
  for (Object* object : objects) EXPECT_EQ(heap::delete_object(object), DeleteResult::kMemoryWaits);
  for (Object* object : objects) {
    EXPECT_EQ(heap::block_lists.huge_head, core::arena.block_index(address(object)));
    EXPECT_EQ(heap::block_lists.huge_tail, core::arena.block_index(address(objects[2])));
    heap::block_lists.huge_head = core::arena.blocks[heap::block_lists.huge_head].next;
  }
  EXPECT_EQ(heap::block_lists.huge_head, heap::kEndOfList);
  heap::block_lists.huge_head = static_cast<uint32_t>(core::arena.block_index(address(objects[0])));
  heap::end_listed_huge();
  for (Object* object : objects) expect_gone(object);
}

// What waits is no reason for an allocation to fail, nor for a round of all that the heap can do.
TEST_F(HugeEndsTest, AnAllocationHasTheMemoryThatWaits) {
  size_t before = heap::own_limit();
  heap::set_limit(size_t{64} << 20);
  uint64_t rounds = heap::promotion_counters.rounds.load();
  for (int i = 0; i < 3; i++) {
    Object* object = allocate(&bytes_type.table, kBytes);
    ASSERT_NE(object, nullptr) << i;
    EXPECT_EQ(heap::delete_object(object), DeleteResult::kMemoryWaits);
  }
  EXPECT_EQ(heap::promotion_counters.rounds.load(), rounds);
  heap::set_limit(before);
}

TEST_F(HugeEndsTest, WhatAReclaimDeletesHasEndedBehindIt) {
  for (bool beside : {false, true}) {
    core::knobs.reclaim_concurrent = beside;
    Object* object = huge();
    EXPECT_EQ(heap::reclaim(), 1) << beside;
    expect_gone(object);
  }
}

TEST_F(HugeEndsTest, AfterItsPinsTheMemoryGoesToo) {
  static void* held;
  Object* object = huge();
  held = object;
  heap::set_pin_scanner([](const heap::PinScan& scan) {
    scan.stopped(scan.argument);
    if (held != nullptr) scan.pinned(held, scan.argument);
    scan.seen(scan.argument);
    return true;
  });
  heap::pin(object);
  EXPECT_EQ(heap::delete_object(object), DeleteResult::kDeleted);
  heap::collect();
  EXPECT_GT(memory_of(object), kBytes / 2);
  held = nullptr;
  heap::collect();
  expect_gone(object);
}

TEST_F(HugeEndsTest, InDebugModeToo) {
  core::knobs.debug = true;
  Object* object = huge();
  EXPECT_EQ(heap::delete_object(object), DeleteResult::kMemoryWaits);
  heap::end_listed_huge();
  expect_gone(object);
}

// As a child of a fork finds it: one is at its end, and no other waits, or one does.
TEST_F(HugeEndsTest, WhatWasUnderWayIsTheOldestAgain) {
  for (bool another_waits : {false, true}) {
    Object *under_way = huge(), *waits = another_waits ? huge() : nullptr;
    EXPECT_EQ(heap::delete_object(under_way), DeleteResult::kMemoryWaits);
    if (another_waits) {
      EXPECT_EQ(heap::delete_object(waits), DeleteResult::kMemoryWaits);
    }
    const uint64_t to_go = heap::block_counters.huge_bytes_to_go.load();
    uint32_t block = heap::block_lists.huge_head;
    ASSERT_EQ(block, core::arena.block_index(address(under_way)));
    heap::block_lists.huge_head = core::arena.blocks[block].next;
    heap::block_lists.huge_ending = block;
    heap::begin_end_of_huge(block);
    heap::block_counters.huge_bytes_to_go.store(1);  // whatever the thread had counted by then
    heap::forget_ending_threads();
    EXPECT_EQ(heap::block_lists.huge_head, block);
    EXPECT_EQ(heap::block_lists.huge_ending, heap::kEndOfList);
    EXPECT_EQ(heap::block_lists.huge_tail, core::arena.block_index(address(another_waits ? waits : under_way)));
    EXPECT_EQ(heap::block_counters.huge_bytes_to_go.load(), to_go);
    heap::end_listed_huge();
    expect_gone(under_way);
    if (another_waits) expect_gone(waits);
  }
}

// The thread that was at it in the parent is not in the child.
TEST_F(HugeEndsTest, AChildOfAForkEndsWhatWasUnderWay) {
  Object *waits = huge(), *under_way = huge();
  EXPECT_EQ(heap::delete_object(under_way), DeleteResult::kMemoryWaits);
  EXPECT_EQ(heap::delete_object(waits), DeleteResult::kMemoryWaits);
  uint32_t block = heap::block_lists.huge_head;
  ASSERT_EQ(block, core::arena.block_index(address(under_way)));
  pid_t child;
  {
    heap::PromotionPause promotion;
    heap::MaintenancePause maintenance;
    heap::take_locks_for_fork();
    child = fork();
    if (child == 0) {
      alarm(60);
      heap::block_lists.huge_head = core::arena.blocks[block].next;
      heap::block_lists.huge_ending = block;
      heap::begin_end_of_huge(block);
      heap::keep_pauses_in_child();
      heap::go_on_in_child();
    }
    heap::give_back_locks_of_fork();
  }
  if (child == 0) {
    heap::end_listed_huge();
    for (Object* object : {waits, under_way}) expect_gone(object);
    _exit(HasFailure() ? 1 : 0);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  heap::end_listed_huge();
  for (Object* object : {waits, under_way}) expect_gone(object);
}

}  // namespace
}  // namespace freehold::testing
