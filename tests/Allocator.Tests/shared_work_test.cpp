// Threads that reach the limit together do together what may help all of them (heap/shared_work.h).
#include "heap/shared_work.h"

#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <thread>
#include <vector>

#include "heap/dedangling.h"
#include "reachability_fixture.h"

namespace freehold::testing {
namespace {

TEST(SharedWork, IsDoneOnceForAllWhoCameBefore) {
  heap::SharedWork work;
  std::atomic<int> done{0}, own{0};
  uint64_t seen = work.begun();
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; i++) {
    threads.emplace_back([&] {
      if (work.once_since(seen, [&]() noexcept { done++; })) own++;
      EXPECT_EQ(done.load(), 1) << "it is over, whoever has done it";
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(done.load(), 1);
  EXPECT_EQ(own.load(), 1);
}

// One that had begun before may have passed what the caller has done since.
TEST(SharedWork, IsDoneAgainForWhoComesWhileItRuns) {
  heap::SharedWork work;
  std::atomic<int> done{0};
  std::atomic<bool> runs{false}, ends{false};
  std::thread first([&] {
    work.once_since(work.begun(), [&]() noexcept {
      runs = true;
      while (!ends) std::this_thread::yield();
      done++;
    });
  });
  while (!runs) std::this_thread::yield();
  uint64_t seen = work.begun();
  std::thread second([&] { EXPECT_TRUE(work.once_since(seen, [&]() noexcept { done++; })); });
  ends = true;
  first.join();
  second.join();
  EXPECT_EQ(done.load(), 2);
}

TEST(SharedWork, IsForgottenWithItsThread) {
  heap::SharedWork work;
  std::atomic<bool> runs{false}, ends{false};
  std::thread first([&] {
    work.once_since(work.begun(), [&]() noexcept {
      runs = true;
      while (!ends) std::this_thread::yield();
    });
  });
  while (!runs) std::this_thread::yield();
  // As in the child of a fork, where nobody would give the lock back.
  work.forget();
  bool done = false;
  EXPECT_TRUE(work.once_since(work.begun(), [&]() noexcept { done = true; }));
  EXPECT_TRUE(done);
  ends = true;
  first.join();
}

// Threads that come to the limit at the same moment: each step of an allocation that fails is begun when all have come to it.
class HerdTest : public ReachabilityTest {
 protected:
  static constexpr int kThreads = 8;
  static inline std::barrier<>* arrivals;
  static inline thread_local int calls;  // of this thread, to where others may stop it
  static inline int calls_together;
  static constexpr heap::RemapSupport kRemapSupport = {[](void (*)(uint64_t*), void (*stopped)(void*), void* argument) {
                                                         stopped(argument);
                                                         return true;
                                                       },
                                                       [](void (*)(uint8_t*, uint8_t*, void*), void*) {},
                                                       [](void (*work)(void*), void* argument) {
                                                         if (arrivals != nullptr && calls++ < calls_together) arrivals->arrive_and_wait();
                                                         work(argument);
                                                       }};

  void SetUp() override {
    ReachabilityTest::SetUp();
    heap::set_remap_support(&kRemapSupport);
    before_ = heap::own_limit();
    arrivals = nullptr;
    // A page with one live object and one that is dead: each walk of a recount counts it once.
    add_root(node());
    ASSERT_EQ(heap::delete_object(node()), DeleteResult::kDeleted);
    heap::retire(&context_);
    context_ = {};
    uint64_t walks = heap::block_counters.recounts.load();
    heap::maintain(true, true);
    ASSERT_EQ(heap::block_counters.recounts.load(), walks + 1);
  }
  void TearDown() override {
    heap::set_limit(before_);
    ReachabilityTest::TearDown();
  }

  using DeleteResult = heap::DeleteResult;

  // Each thread asks for what cannot be had. How often maintenance has gone through the heap for that.
  uint64_t walks_of_herd(int together, size_t limit) {
    heap::set_limit(limit);
    std::barrier all(kThreads);
    calls_together = together;
    arrivals = &all;
    uint64_t walks = heap::block_counters.recounts.load();
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; i++) {
      threads.emplace_back([] {
        calls = 0;
        heap::AllocationContext context = {};
        EXPECT_EQ(allocate_with(&context, &bytes_type.table, 40 << 20), nullptr);
        for (; calls < calls_together; calls++) arrivals->arrive_and_wait();
        heap::retire(&context);
      });
    }
    for (std::thread& thread : threads) thread.join();
    arrivals = nullptr;
    return heap::block_counters.recounts.load() - walks;
  }

 private:
  size_t before_ = 0;
};

TEST_F(HerdTest, MaintainsOnceWhereNothingElseHelps) {
  core::knobs.reclaim = core::Reclaim::kOff;
  EXPECT_EQ(walks_of_herd(1, 32 << 20), 1u);
}

// What a marking has deleted is given back once, however many threads have waited for it.
TEST_F(HerdTest, GivesBackOnceForEachMarking) {
  add_root(allocate(&bytes_type.table, 30 << 20));
  uint64_t markings = heap::reclaims(), walks = walks_of_herd(2, 64 << 20);
  EXPECT_GT(heap::reclaims(), markings);
  EXPECT_LE(walks, 1 + heap::reclaims() - markings);
}

}  // namespace
}  // namespace freehold::testing
