// Blocks that a round wants and threads pin meanwhile (heap/promotion.cpp, Round::retry): how many stops they cost, which of them move, and who waits.
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "heap/block_evacuation.h"
#include "heap/phases.h"
#include "os/failure_injection.h"
#include "promotion_fixture.h"

namespace freehold::testing {
namespace {

class PinnedAgainTest : public PromotionTest {
 protected:
  static inline std::vector<Object*> kept;
  static inline size_t scans;

  void TearDown() override {
    heap::set_pin_scanner(nullptr);
    kept.clear();
    PromotionTest::TearDown();
  }

  // Blocks, with an object in each of them in `kept`.
  static void keep_one_of_each(const std::vector<Object*>& all) {
    size_t last = SIZE_MAX;
    for (Object* object : all) {
      size_t block = core::arena.block_index(name(object));
      if (block != last) kept.push_back(object);
      last = block;
    }
  }
  static core::BlockRecord& record_of(Object* object) { return core::arena.blocks[core::arena.block_index(reinterpret_cast<uintptr_t>(object))]; }
  static void pin_all() {
    for (Object* object : kept) {
      if (core::arena.blocks[core::arena.block_index(name(object))].state.load() == core::BlockState::kLive) heap::pin(object);
    }
  }
  // A stop in which no pinned local shows anything.
  static size_t scan_nothing(const heap::PinScan& scan) {
    scan.stopped(scan.argument);
    scan.seen(scan.argument);
    return ++scans;
  }
  static size_t moved() {
    size_t count = 0;
    for (Object* object : kept) count += name(object) != reinterpret_cast<uint64_t>(object) ? 1 : 0;
    return count;
  }
};

// Servers write the same strings to their clients all the time: each block of them was pinned again before its turn came.
TEST_P(PinnedAgainTest, WhatIsPinnedForMomentsMoves) {
  keep_one_of_each(sparse_blocks(8, 10));
  scans = 0;
  heap::set_pin_scanner([](const heap::PinScan& scan) {
    scan_nothing(scan);
    pin_all();
    return true;
  });
  pin_all();
  heap::promote(PromotionScope::kAll);
  EXPECT_GE(moved(), kept.size() - 2) << "the first and the last may not be used up";
  EXPECT_EQ(heap::promotion_counters.refused.load(), 0u);
  EXPECT_LE(scans, 1 + kept.size()) << "one for all, then one for each block";
  expect_valid("at the end");
}

// A stop tells of all blocks: those that are not pinned again need none of their own.
TEST_P(PinnedAgainTest, WhatIsNotPinnedAgainNeedsNoMoreStops) {
  keep_one_of_each(sparse_blocks(8, 10));
  scans = 0;
  heap::set_pin_scanner([](const heap::PinScan& scan) {
    if (scan_nothing(scan) == 1) pin_all();
    return true;
  });
  pin_all();
  heap::promote(PromotionScope::kAll);
  EXPECT_GE(moved(), kept.size() - 2);
  EXPECT_EQ(scans, 2u);
  expect_valid("at the end");
}

// No stop can help them.
TEST_P(PinnedAgainTest, WhatAHandlePinsCostsNoStop) {
  keep_one_of_each(sparse_blocks(8, 10));
  scans = 0;
  heap::set_pin_scanner([](const heap::PinScan& scan) {
    scan_nothing(scan);
    pin_all();
    return true;
  });
  for (Object* object : kept) record_of(object).handle_pins.store(1);
  pin_all();
  EXPECT_EQ(heap::promote(PromotionScope::kAll), 0u);
  EXPECT_EQ(scans, 1u);
  for (Object* object : kept) record_of(object).handle_pins.store(0);
  expect_valid("at the end");
}

// The stop takes no lock that somebody may have for long.
TEST_P(PinnedAgainTest, AStopWaitsForNoMaintenance) {
  keep_one_of_each(sparse_blocks(8, 10));
  static std::atomic<bool> locked, leave;
  locked = leave = false;
  scans = 0;
  static auto hold = [] {
    heap::MaintenancePause pause;
    locked = true;
    while (!leave) std::this_thread::yield();
  };
  static std::thread holder;
  heap::set_pin_scanner([](const heap::PinScan& scan) {
    scan.stopped(scan.argument);
    if (++scans == 2) {
      holder = std::thread(hold);
      while (!locked) std::this_thread::yield();
    }
    scan.seen(scan.argument);  // would not come back
    if (scans == 2) {
      leave = true;
      holder.join();
    }
    if (scans == 1) pin_all();
    return true;
  });
  pin_all();
  heap::promote(PromotionScope::kAll);
  EXPECT_EQ(scans, 2u);
  EXPECT_GE(moved(), kept.size() - 2) << "without a claim they have their turn as others have";
  expect_valid("at the end");
}

class RoundThatIsWaitedForTest : public PinnedAgainTest {
 protected:
  static inline os::FairLock* lock;
  static inline std::thread waiter;

  // Who waits takes `wanted` once the round has stopped the threads a second time.
  void stops_nobody_again(os::FairLock& wanted, void (*wait)()) {
    keep_one_of_each(sparse_blocks(8, 10));
    scans = 0;
    lock = &wanted;
    static void (*waiting)();
    waiting = wait;
    heap::set_pin_scanner([](const heap::PinScan& scan) {
      if (scan_nothing(scan) == 2) {
        waiter = std::thread(waiting);
        while (!lock->is_wanted()) std::this_thread::yield();
      }
      pin_all();
      return true;
    });
    pin_all();
    heap::promote(PromotionScope::kAll);
    waiter.join();
    EXPECT_EQ(scans, 2u);
    EXPECT_EQ(moved(), 1u) << "the one that the second stop has claimed";
    expect_valid("at the end");
  }
};

// Ends of scopes and forks wait for the round.
TEST_P(RoundThatIsWaitedForTest, ByAPauseStopsNobodyAgain) {
  stops_nobody_again(heap::promotion_lock, [] { heap::PromotionPause pause; });
}

// So do reclaims, which want the first of its two locks.
TEST_P(RoundThatIsWaitedForTest, ByAReclaimStopsNobodyAgain) {
  stops_nobody_again(heap::place_lock, [] { heap::MovingTurn turn(true); });
}

// Whatever is refused after a claim, the block lives on, and nobody waits for it for ever.
TEST_P(PinnedAgainTest, AClaimThatCannotBeUsedEnds) {
  for (const char* call : {"mmap", "mprotect", "mremap", "madvise", "register"}) {
    for (const char* where : {"1", "2", "3", "1+", "3+"}) {
      std::string failure = std::string(call) + ":" + where;
      SCOPED_TRACE(failure);
      kept.clear();
      keep_one_of_each(sparse_blocks(6, 20));
      static std::string failing;
      failing = failure;
      scans = 0;
      heap::set_pin_scanner([](const heap::PinScan& scan) {
        if (scan_nothing(scan) == 2) os::inject_failures(failing.c_str());
        pin_all();
        return true;
      });
      pin_all();
      heap::promote(PromotionScope::kAll);
      ASSERT_TRUE(os::inject_failures((std::string(call) + ":18446744073709551615").c_str()));
      for (Object* object : kept) {
        size_t block = core::arena.block_index(reinterpret_cast<uintptr_t>(object));
        EXPECT_NE(core::arena.blocks[block].state.load(), core::BlockState::kEvacuating);
        auto* pinned = static_cast<uint32_t*>(heap::pin(object));
        ASSERT_NE(pinned, nullptr);
        EXPECT_TRUE(core::try_store(pinned + 2, pinned[2])) << "what lives can be written to";
      }
      expect_valid("after failures");
    }
  }
}

// A thread that pins without a pause: it finds blocks claimed, waits, and gets the new places.
TEST_P(PinnedAgainTest, WhoPinsAClaimedBlockWaitsForItsEnd) {
  keep_one_of_each(sparse_blocks(8, 10));
  static std::atomic<bool> stop, stands, done;
  stop = stands = done = false;
  std::atomic<uint64_t> wrong{0};
  std::thread pinner([&] {
    while (!done) {
      for (Object* object : kept) {
        if (stop) {
          stands = true;
          while (stop && !done) std::this_thread::yield();
          stands = false;
        }
        auto* pinned = static_cast<Object*>(heap::pin(object));
        if (load(pinned, 0) != reinterpret_cast<uint64_t>(&node_type.table)) wrong++;
      }
    }
  });
  heap::set_pin_scanner([](const heap::PinScan& scan) {
    stop = true;
    while (!stands) std::this_thread::yield();
    scan.stopped(scan.argument);
    scan.seen(scan.argument);
    stop = false;
    return true;
  });
  pin_all();
  heap::promote(PromotionScope::kAll);
  done = true;
  pinner.join();
  EXPECT_EQ(wrong, 0u);
  EXPECT_GT(moved(), 0u);
  expect_valid("at the end");
}

INSTANTIATE_TEST_SUITE_P(Protections, PinnedAgainTest, ::testing::Values(core::Protection::kUserfaultfd, core::Protection::kMprotect),
                         [](const auto& info) { return info.param == core::Protection::kMprotect ? "Mprotect" : "Userfaultfd"; });
INSTANTIATE_TEST_SUITE_P(Protections, RoundThatIsWaitedForTest, ::testing::Values(core::Protection::kUserfaultfd, core::Protection::kMprotect),
                         [](const auto& info) { return info.param == core::Protection::kMprotect ? "Mprotect" : "Userfaultfd"; });

}  // namespace
}  // namespace freehold::testing
