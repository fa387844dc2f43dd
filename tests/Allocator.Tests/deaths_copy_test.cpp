// What is known of deaths, as it is told: beside threads that allocate and looks that change it; and looks that lack memory.
#include <atomic>
#include <shared_mutex>
#include <thread>

#include "deaths_fixture.h"
#include "heap/deletion.h"

namespace freehold::testing {
namespace {

// Each sample is in a row, or counted.
void expect_all_told(uint64_t in_rows, const heap::DeathTotals& totals) { EXPECT_EQ(in_rows + totals.untold + totals.without_room, totals.samples); }

class DeathCopyTest : public DeathsTest {
 protected:
  static inline int pieces;

  void TearDown() override {
    heap::call_between_pieces(nullptr);
    DeathsTest::TearDown();
  }
  static uint64_t in_rows(const Told& told) {
    uint64_t sum = 0;
    for (const heap::DeathRow& row : told.rows) sum += row.samples;
    return sum;
  }
  // They live in an array.
  uint64_t* live(size_t count) {
    Object* array = allocate(&references_type.table, static_cast<uint32_t>(count));
    for (size_t i = 0; i < count; i++) reinterpret_cast<uint64_t*>(array)[2 + i] = 0;
    local = address(array);
    places_without_frame.push_back(&local);
    for (size_t i = 0; i < count; i++) set(array, 2 + i, born());
    return reinterpret_cast<uint64_t*>(array) + 2;
  }

  uint64_t local = 0;
};

// A thread that allocates never waits for all of it.
TEST_F(DeathCopyTest, TheLockIsHeldForAPieceOnly) {
  constexpr size_t kLive = 5'000;
  live(kLive);
  look();
  pieces = 0;
  heap::call_between_pieces([] {
    pieces++;
    heap::DeathLock guard;  // is free
  });
  Told now = told();
  EXPECT_EQ(now.count(Kind::kLives), kLive);
  EXPECT_GE(pieces, static_cast<int>((heap::kDeathRows + heap::kDeathFieldRows + kLive) / 1024));
  expect_all_told(in_rows(now), now.totals);
}

// A look between two pieces: it begins anew, and what has died meanwhile is told once.
TEST_F(DeathCopyTest, ALookBetweenTwoPiecesLosesNothing) {
  constexpr size_t kLive = 5'000;
  static uint64_t* elements;
  elements = live(kLive);
  look();
  for (int when : {1, 40, 66, 79, 81}) {
    static int at;
    at = when;
    pieces = 0;
    heap::call_between_pieces([] {
      if (pieces++ != at) return;
      for (int i = 0; i < 500; i++) *elements++ = 0;
      look();
    });
    Told now = told();
    EXPECT_EQ(in_rows(now), kLive);
    EXPECT_GT(pieces, at);
    expect_all_told(in_rows(now), now.totals);
  }
  EXPECT_EQ(told().count(Kind::kLives), kLive - 5 * 500);
}

// Where there is a change between any two pieces, the whole is copied at once.
TEST_F(DeathCopyTest, LooksThatComeAllTheTimeDoNotKeepItFromEnding) {
  live(100);
  look();
  pieces = 0;
  heap::call_between_pieces([] {
    pieces++;
    look();
  });
  Told now = told();
  EXPECT_EQ(now.count(Kind::kLives), 100u);
  EXPECT_LE(pieces, 10);
}

TEST_F(DeathCopyTest, WhatNoLookHasSeenIsCounted) {
  Object *deleted = born(), *kept = born();
  local = address(kept);
  places_without_frame.push_back(&local);
  EXPECT_EQ(told().totals.untold, 2u);
  ASSERT_EQ(heap::delete_object(deleted), heap::DeleteResult::kDeleted);
  heap::refresh_death_samples();
  EXPECT_EQ(told().totals.untold, 2u);
  look();
  Told now = told();
  EXPECT_EQ(now.totals.untold, 1u);
  EXPECT_EQ(now.count(Kind::kLives), 1u);
  expect_all_told(in_rows(now), now.totals);
  // Deleted between two looks.
  deleted = born();
  ASSERT_EQ(heap::delete_object(deleted), heap::DeleteResult::kDeleted);
  look();
  EXPECT_EQ(told().totals.untold, 2u);
}

// Where not all frames found room, nobody can say that one is gone.
TEST_F(DeathCopyTest, WhereFramesFindNoRoomNoneHasReturned) {
  uint64_t locals[2];
  frames = {frame(2), frame(1)};
  for (uint64_t& place : locals) {
    place = address(born());
    frames[0].places.push_back(&place);
  }
  look();
  // The method has returned; somebody else has one of the two.
  frames.erase(frames.begin());
  locals[0] = 0;
  places_without_frame.push_back(&locals[1]);
  for (uint64_t i = 0; i < 3'000; i++) frames.push_back(frame(100 + i));
  // The marking needs memory first: without that there is no look.
  for (int number = 1; number < 100 && told().totals.looks == 1; number++) {
    os::inject_failures(("mprotect:" + std::to_string(number) + "+").c_str());
    look();
    os::inject_failures("mprotect:18446744073709551615");
  }
  Told now = told();
  ASSERT_EQ(now.totals.looks, 2u);
  ASSERT_EQ(now.totals.lost, 0u);
  ASSERT_NE(now.only(Kind::kStack), nullptr);
  EXPECT_EQ(now.only(Kind::kStack)->method, frame(2).seen.method);
  EXPECT_FALSE(now.only(Kind::kStack)->frame_gone);
  // Nor had it when the other one was last seen.
  ASSERT_NE(now.only(Kind::kLives), nullptr);
  EXPECT_EQ(now.only(Kind::kLives)->alive_after, 0);
  // With room, both are seen.
  look();
  EXPECT_EQ(told().only(Kind::kLives)->alive_after, 1);
}

// Threads that allocate, store and forget beside looks, and one that asks what is known.
class DeathThreadsTest : public DeathCopyTest {
 protected:
  static constexpr size_t kThreads = 3, kSlots = 64;
  static inline std::shared_mutex running;  // a thread in cooperative mode has it
  static inline std::atomic<bool> stops{false};
  static inline uint64_t slots[kThreads][kSlots];

  void SetUp() override {
    DeathCopyTest::SetUp();
    static heap::RootSupport support;
    support = kSupport;
    support.stop = [](void (*stopped)(void*), void* argument) {
      stops = true;
      std::unique_lock guard(running);
      stopped(argument);
      stops = false;
      return true;
    };
    heap::set_root_support(&support);
    memset(slots, 0, sizeof slots);
    roots.clear();
    for (auto& thread : slots)
      for (uint64_t& slot : thread) places_without_frame.push_back(&slot);
    support.for_each_root = [](void (*fn)(uintptr_t, bool, void*), void* argument) {
      for (const uint64_t* place : places_without_frame) fn(*place, false, argument);
    };
    support.for_each_stack_root = support.for_each_root;
  }

  static void mutate(size_t number, const std::atomic<bool>& end, std::atomic<uint64_t>& made) {
    heap::AllocationContext context = {};
    heap::thread_heap.is_not_sampled = true;
    std::mt19937_64 random(number + 1);
    while (!end) {
      while (stops) std::this_thread::yield();
      std::shared_lock guard(running);
      for (int i = 0; i < 32; i++) {
        auto* object = allocate_with(&context, &node_type.table);
        for (size_t word = 1; word <= 3; word++) set(object, word, nullptr);
        if (random() % 2 == 0) {
          heap::note_birth(object, uint64_t{64} << 10);
          made++;
        }
        uint64_t& slot = slots[number][random() % kSlots];
        switch (random() % 4) {
          case 0: slot = 0; break;
          case 1: set(object, 1 + random() % 3, reinterpret_cast<Object*>(slot)); [[fallthrough]];
          case 2: slot = address(object); break;
          default:
            if (slot != 0) set(reinterpret_cast<Object*>(slot), 1 + random() % 3, object);
        }
      }
    }
    std::shared_lock guard(running);
    heap::retire(&context);
  }
};

TEST_F(DeathThreadsTest, WhatIsToldBesideThreadsAddsUp) {
  std::atomic<bool> end{false};
  std::atomic<uint64_t> made{0};
  std::vector<std::thread> threads;
  for (size_t i = 0; i < kThreads; i++) threads.emplace_back(mutate, i, std::cref(end), std::ref(made));
  threads.emplace_back([&] {
    while (!end) {
      Told now = told();
      expect_all_told(in_rows(now), now.totals);
    }
  });
  for (int i = 0; i < 60; i++) {
    for (uint64_t before = made; made < before + 200;) std::this_thread::yield();
    heap::look_at_deaths();
  }
  end = true;
  for (std::thread& thread : threads) thread.join();
  memset(slots, 0, sizeof slots);
  heap::look_at_deaths();
  Told now = told();
  EXPECT_EQ(now.totals.looks, 61u);
  EXPECT_EQ(now.totals.samples, made.load());
  EXPECT_EQ(now.totals.untold, 0u);
  EXPECT_EQ(now.count(Kind::kLives), 0u);
  EXPECT_EQ(in_rows(now), made.load());
  EXPECT_GT(now.count(Kind::kUnseen), 0u);
  EXPECT_GT(now.count(Kind::kStack), 0u);
  expect_valid("looks beside threads");
}

}  // namespace
}  // namespace freehold::testing
