// When what no root reaches is deleted by itself (heap/reclaim_policy.h): before an allocation fails, and when the heap has grown.
#include "heap/reclaim_policy.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "heap/accounting.h"
#include "heap/dedangling.h"
#include "heap/finalization_queue.h"
#include "heap/pacing.h"
#include "heap/promotion.h"
#include "heap/promotion_counters.h"
#include "heap/reachability.h"
#include "heap/thread_heap.h"
#include "heap/trace.h"
#include "reachability_fixture.h"

namespace freehold::testing {
namespace {

using heap::DeleteResult;

// Allocations that reach a limit of 64 MB.
class ReclaimTest : public ReachabilityTest {
 protected:
  static constexpr size_t kLimit = size_t{64} << 20;
  static constexpr heap::RemapSupport kRemapSupport = {[](void (*)(uint64_t*), void (*stopped)(void*), void* argument) {
                                                         stopped(argument);
                                                         return true;
                                                       },
                                                       [](void (*)(uint8_t*, uint8_t*, void*), void*) {},
                                                       [](void (*work)(void*), void* argument) { work(argument); }};

  void SetUp() override {
    ReachabilityTest::SetUp();
    heap::set_remap_support(&kRemapSupport);
    before_ = heap::limit();
    heap::set_limit(kLimit);
  }
  void TearDown() override {
    heap::set_limit(before_);
    ReachabilityTest::TearDown();
  }

  static void note(uint64_t deleted, bool marked, uint64_t live) { heap::note_reclaim({heap::ReclaimScope::kAll, marked, deleted, live, 0}); }

  // So many bytes of objects, or until an allocation fails: then false.
  bool allocate_bytes(size_t bytes, const core::MethodTable* type = &node_type.table, uint32_t length = 0) {
    size_t size = type->base_size + static_cast<size_t>(length) * type->component_size();
    for (size_t done = 0; done < bytes; done += size) {
      if (allocate(type, length) == nullptr) return false;
    }
    return true;
  }

 private:
  size_t before_ = 0;
};

TEST_F(ReclaimTest, WhatNobodyReachesGoesBeforeAnAllocationFails) {
  Object *last = node(), *root = node({last});
  add_root(root);
  EXPECT_TRUE(allocate_bytes(4 * kLimit));
  EXPECT_TRUE(allocate_bytes(4 * kLimit, &bytes_type.table, 100'000));
  EXPECT_TRUE(allocate_bytes(4 * kLimit, &bytes_type.table, 20'000'000));
  EXPECT_GT(heap::reclaims(), 8u);
  EXPECT_LT(heap::reclaims(), 20u);
  EXPECT_FALSE(heap::is_deleted(root) || heap::is_deleted(last));
  EXPECT_GT(heap::reachability_counters.bytes.load(), 10 * kLimit);
  expect_valid("after the markings");
}

TEST_F(ReclaimTest, NotIfTheKnobIsOff) {
  core::knobs.reclaim = core::Reclaim::kOff;
  EXPECT_FALSE(allocate_bytes(2 * kLimit));
  EXPECT_EQ(heap::reclaims(), 0u);
}

TEST_F(ReclaimTest, WhatIsReachedStaysAndTheAllocationFails) {
  std::vector<Object*> reached;
  while (Object* object = allocate(&bytes_type.table, 100'000)) {
    reached.push_back(object);
    add_root(object);
  }
  EXPECT_EQ(heap::reclaims(), 1u);
  for (Object* object : reached) ASSERT_FALSE(heap::is_deleted(object));
  // Nor for what never fits.
  uint64_t before = heap::reclaims();
  EXPECT_EQ(allocate(&bytes_type.table, kLimit + 1), nullptr);
  EXPECT_EQ(heap::reclaims(), before);
  // What is let go now is there for the next, with nothing allocated meanwhile.
  roots.resize(roots.size() / 2);
  EXPECT_TRUE(allocate_bytes(kLimit / 4, &bytes_type.table, 100'000));
  EXPECT_EQ(heap::reclaims(), before + 1);
}

TEST_F(ReclaimTest, FinalizersAreWaitedFor) {
  static std::thread finalizers;
  heap::RootSupport support = kSupport;
  support.run_finalizers = []() {
    if (finalizers.joinable()) finalizers.join();
    finalizers = std::thread([] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      while (heap::next_finalizable() != 0) {}
    });
  };
  heap::set_root_support(&support);
  EXPECT_TRUE(allocate_bytes(3 * kLimit, &finalizable_node_type.table));
  finalizers.join();
  // Where nobody runs them, an allocation does not wait for ever.
  heap::set_root_support(&kSupport);
  EXPECT_FALSE(allocate_bytes(2 * kLimit, &finalizable_node_type.table));
}

// Another marking has found them, and the one before the failure finds nothing more.
TEST_F(ReclaimTest, FinalizersThatWaitAlreadyAreWaitedFor) {
  EXPECT_TRUE(allocate_bytes(kLimit - 4 * core::kBlockSize, &finalizable_node_type.table));
  EXPECT_EQ(heap::reclaim(), 0);
  ASSERT_GT(heap::finalizable_count(), 1'000u);
  static std::thread finalizers;
  heap::RootSupport support = kSupport;
  support.run_finalizers = []() {
    if (finalizers.joinable()) return;
    finalizers = std::thread([] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      while (heap::next_finalizable() != 0) {}
    });
  };
  heap::set_root_support(&support);
  EXPECT_TRUE(allocate_bytes(kLimit / 2));
  finalizers.join();
  heap::set_root_support(&kSupport);
}

TEST_F(ReclaimTest, WithoutMemoryForMarksTheAllocationFails) {
  EXPECT_TRUE(allocate_bytes(kLimit - 4 * core::kBlockSize));
  ASSERT_TRUE(os::inject_failures("mmap:1+"));
  EXPECT_FALSE(allocate_bytes(kLimit / 4));
  ASSERT_TRUE(os::inject_failures("mmap:18446744073709551615"));
  EXPECT_EQ(heap::reclaims(), 0u);
  EXPECT_TRUE(allocate_bytes(kLimit));
}

TEST_F(ReclaimTest, GrowthIsCountedFromTheLastTime) {
  heap::set_limit(size_t{1} << 30);
  EXPECT_FALSE(heap::should_reclaim());
  core::knobs.reclaim_growth = 50;
  EXPECT_FALSE(heap::should_reclaim());
  // At first, and in small heaps, 32 MB.
  Object* root = allocate(&bytes_type.table, 31 << 20);
  EXPECT_FALSE(heap::should_reclaim());
  allocate(&bytes_type.table, 2 << 20);
  EXPECT_TRUE(heap::should_reclaim());
  add_root(root);
  EXPECT_EQ(heap::reclaim(), 1);
  EXPECT_FALSE(heap::should_reclaim());
  // That was of little use, and so is this.
  add_root(allocate(&bytes_type.table, 66 << 20));
  EXPECT_TRUE(heap::should_reclaim());
  EXPECT_EQ(heap::reclaim(), 0);
  // 97 MB live.
  Object* lost = allocate(&bytes_type.table, 120 << 20);
  EXPECT_FALSE(heap::should_reclaim());
  allocate(&bytes_type.table, 10 << 20);
  EXPECT_TRUE(heap::should_reclaim());
  EXPECT_EQ(heap::reclaim(), 2);
  EXPECT_TRUE(heap::is_deleted(lost));
  allocate(&bytes_type.table, 42 << 20);
  EXPECT_FALSE(heap::should_reclaim());
  allocate(&bytes_type.table, 8 << 20);
  EXPECT_TRUE(heap::should_reclaim());
}

TEST_F(ReclaimTest, ListenersAreToldOfEach) {
  heap::set_tracing(true);
  node();
  node();
  EXPECT_EQ(heap::reclaim(), 2);
  heap::TraceEvent events[16];
  uint64_t lost = 0;
  size_t count = heap::take_traces(events, std::size(events), &lost);
  heap::set_tracing(false);
  auto* told = std::find_if(events, events + count, [](const heap::TraceEvent& event) { return event.kind == heap::TraceKind::kReclaim; });
  ASSERT_NE(told, events + count);
  EXPECT_EQ(told->objects, 2u);
  EXPECT_EQ(told->bytes, 80u);
}

// What was noted of the last one stays until this one has ended: who waits for distance to another stop is not to hurry for a reclaim that is under way.
TEST_F(ReclaimTest, OneThatIsMadeDoesNotWait) {
  heap::set_limit(size_t{1} << 30);
  EXPECT_FALSE(heap::is_reclaim_waiting());
  allocate(&bytes_type.table, 40 << 20);
  EXPECT_TRUE(heap::is_reclaim_waiting());
  heap::note_reclaim_begins();
  EXPECT_TRUE(heap::should_reclaim());
  EXPECT_FALSE(heap::is_reclaim_waiting());
  note(40 << 20, true, 0);
  EXPECT_TRUE(heap::is_reclaim_waiting());
}

// A program that has deleted most of its heap is looked after as a small one, some time later; one whose heap goes up and down is not.
TEST_F(ReclaimTest, GrowthIsCountedFromLessWhenTheHeapStaysSmall) {
  heap::set_limit(size_t{4} << 30);
  auto pass = [this](size_t bytes) {
    for (size_t done = 0; done < bytes; done += 20 << 20) {
      heap::delete_object(allocate(&bytes_type.table, 20 << 20));
      heap::should_reclaim();
    }
  };
  Object* most = allocate(&bytes_type.table, 200 << 20);
  add_root(most);
  heap::note_reclaim_begins();
  note(100 << 20, true, heap::thread_totals().live_bytes());
  for (int i = 0; i < 8; i++) {
    roots.clear();
    heap::delete_object(most);
    pass(400 << 20);
    most = allocate(&bytes_type.table, 190 << 20);
    EXPECT_FALSE(heap::should_reclaim()) << i;
  }
  heap::delete_object(most);
  pass(size_t{2} << 30);
  allocate(&bytes_type.table, 60 << 20);
  EXPECT_TRUE(heap::should_reclaim());
}

TEST_F(ReclaimTest, WhatIsOfNoUseIsDoneLess) {
  heap::set_limit(size_t{4} << 30);
  core::knobs.reclaim_growth = 10;
  // What a program keeps is looked through after 32 MB, 64, 128, 256, 256...
  std::vector<int> after;
  for (int grown = 0; after.size() < 5;) {
    add_root(allocate(&bytes_type.table, 4 << 20));
    grown += 4;
    if (!heap::should_reclaim()) continue;
    after.push_back(grown);
    grown = 0;
    EXPECT_EQ(heap::reclaim(), 0);
  }
  EXPECT_EQ(after, (std::vector<int>{32, 64, 128, 256, 256}));
  // Calls in between, which have nothing new to find, are no sign of anything.
  for (int i = 0; i < 5; i++) EXPECT_EQ(heap::reclaim(), 0);
  allocate(&bytes_type.table, 250 << 20);
  EXPECT_FALSE(heap::should_reclaim());
  EXPECT_EQ(heap::reclaim(), 1);
  // 736 MB live: a tenth of that is asked again.
  allocate(&bytes_type.table, 70 << 20);
  EXPECT_FALSE(heap::should_reclaim());
  allocate(&bytes_type.table, 6 << 20);
  EXPECT_TRUE(heap::should_reclaim());
}

TEST_F(ReclaimTest, ByItselfOnlyForWhatIsNotDeleted) {
  heap::set_limit(size_t{1} << 30);
  for (int i = 0; i < 50; i++) {
    ASSERT_EQ(heap::delete_object(allocate(&bytes_type.table, 20 << 20)), DeleteResult::kDeleted);
    ASSERT_FALSE(heap::should_reclaim());
  }
  allocate(&bytes_type.table, 33 << 20);
  EXPECT_TRUE(heap::should_reclaim());
  core::knobs.reclaim = core::Reclaim::kManual;
  EXPECT_FALSE(heap::should_reclaim());
}

// Threads that allocate more than half as much again as a marking began for wait for it, a little each time.
TEST_F(ReclaimTest, AllocationsThatOutrunAMarkingArePaced) {
  heap::set_limit(size_t{1} << 30);
  heap::note_reclaim_begins();
  Object* first = allocate(&bytes_type.table, 40 << 20);
  uint64_t waits = heap::promotion_counters.frame_waits.load();
  allocate_bytes(2 * core::kBlockSize);
  EXPECT_FALSE(heap::is_reclaim_behind());
  EXPECT_EQ(heap::promotion_counters.frame_waits.load(), waits);
  allocate(&bytes_type.table, 10 << 20);
  EXPECT_TRUE(heap::is_reclaim_behind());
  allocate_bytes(3 * core::kBlockSize);
  EXPECT_GE(heap::promotion_counters.frame_waits.load(), waits + 2);
  waits = heap::promotion_counters.frame_waits.load();
  allocate(&bytes_type.table, 100'000);
  EXPECT_EQ(heap::promotion_counters.frame_waits.load(), waits + 1);
  core::knobs.reclaim = core::Reclaim::kManual;
  EXPECT_FALSE(heap::is_reclaim_behind());
  core::knobs.reclaim = core::Reclaim::kAuto;
  heap::delete_object(first);
  EXPECT_FALSE(heap::is_reclaim_behind());
  allocate(&bytes_type.table, 40 << 20);
  EXPECT_TRUE(heap::is_reclaim_behind());
  note(0, true, heap::thread_totals().live_bytes());
  EXPECT_FALSE(heap::is_reclaiming() || heap::is_reclaim_behind());
}

// A marking that begins because the limit is near is outrun by less than one that begins because the heap has grown.
TEST_F(ReclaimTest, NearTheLimitAllocationsArePacedBeforeTheyMeetIt) {
  constexpr uint64_t kLimit = uint64_t{256} << 20;
  heap::set_limit(kLimit);
  allocate(&bytes_type.table, 230 << 20);
  heap::note_reclaim_begins();
  note(0, true, heap::thread_totals().live_bytes());
  heap::note_reclaim_begins();
  EXPECT_FALSE(heap::is_reclaim_behind());
  allocate(&bytes_type.table, (kLimit / 16 * 15) + (1 << 20) - heap::memory_footprint());
  EXPECT_TRUE(heap::is_reclaim_behind());
  EXPECT_FALSE(heap::is_reclaim_far_behind());
  allocate(&bytes_type.table, (kLimit / 32 * 31) + (1 << 20) - heap::memory_footprint());
  EXPECT_TRUE(heap::is_reclaim_far_behind());
  core::knobs.reclaim = core::Reclaim::kManual;
  EXPECT_FALSE(heap::is_reclaim_behind());
  // A heap that lives there, and does not grow, is not slowed.
  core::knobs.reclaim = core::Reclaim::kAuto;
  note(0, true, heap::thread_totals().live_bytes());
  heap::note_reclaim_begins();
  EXPECT_FALSE(heap::is_reclaim_behind());
}

// Else a heap with frames to spare grows until a reclaim has as much to do as the program.
TEST_F(ReclaimTest, FramesThatWaitAreNoReasonToOutrunAMarking) {
  heap::set_limit(size_t{1} << 30);
  heap::note_reclaim_begins();
  auto waits = [] {
    uint64_t before = heap::promotion_counters.frame_waits.load();
    heap::thread_heap.paced_windows = core::kWindowsPerBlock;
    heap::wait_for_frames();
    return heap::promotion_counters.frame_waits.load() - before;
  };
  constexpr uint64_t kFrames = 8;
  heap::block_counters.pooled.fetch_add(kFrames);
  allocate(&bytes_type.table, 40 << 20);
  EXPECT_EQ(waits(), 0u);
  EXPECT_EQ(heap::thread_heap.paced_windows, 0u);
  allocate(&bytes_type.table, 10 << 20);
  EXPECT_TRUE(heap::is_reclaim_behind());
  EXPECT_EQ(waits(), 1u);
  EXPECT_EQ(heap::thread_heap.paced_windows, core::kWindowsPerBlock);
  heap::block_counters.pooled.fetch_sub(kFrames);
  note(0, true, heap::thread_totals().live_bytes());
  EXPECT_EQ(waits(), 0u);
}

// A reclaim is judged by what had grown when it began: nothing that was made while it ran can go in it. One without memory says nothing.
TEST_F(ReclaimTest, WhatIsMadeMeanwhileIsNoneOfItsUse) {
  heap::set_limit(size_t{2} << 30);
  allocate(&bytes_type.table, 50 << 20);
  heap::note_reclaim_begins();
  allocate(&bytes_type.table, 200 << 20);
  note(20 << 20, true, heap::thread_totals().live_bytes() - (20 << 20));
  uint64_t live = heap::thread_totals().live_bytes();
  heap::note_reclaim_begins();
  note(0, false, live);
  // Twice that would be asked after one of little use.
  allocate(&bytes_type.table, live + (20 << 20));
  EXPECT_TRUE(heap::should_reclaim());
}

TEST_F(ReclaimTest, NearTheLimitLessGrowthSuffices) {
  heap::set_limit(size_t{128} << 20);
  add_root(allocate(&bytes_type.table, 100 << 20));
  EXPECT_EQ(heap::reclaim(), 0);
  // Of no use: more is asked, until it is.
  allocate(&bytes_type.table, 15 << 20);
  EXPECT_FALSE(heap::should_reclaim());
  EXPECT_EQ(heap::reclaim(), 1);
  allocate(&bytes_type.table, 7 << 20);
  EXPECT_FALSE(heap::should_reclaim());
  allocate(&bytes_type.table, 8 << 20);
  EXPECT_TRUE(heap::should_reclaim());
  EXPECT_EQ(heap::reclaim(), 2);
  EXPECT_FALSE(heap::should_reclaim());
}

}  // namespace
}  // namespace freehold::testing
