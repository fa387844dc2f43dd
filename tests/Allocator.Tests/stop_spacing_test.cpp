// Stops that nobody waits for leave the threads several times as long as the last one took (core/stop_spacing.h).
#include "core/stop_spacing.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <thread>

#include "heap/background_thread.h"
#include "os/kernel.h"

namespace freehold::testing {
namespace {

constexpr uint64_t kMillisecond = 1'000'000;

TEST(StopSpacing, IsSeveralTimesWhatTheLastStopTook) {
  core::StopSpacing spacing;
  EXPECT_EQ(spacing.left(0, 4), 0u) << "there was none";
  EXPECT_EQ(spacing.left(1'000 * kMillisecond, 4), 0u);
  spacing.note(100 * kMillisecond, 102 * kMillisecond);
  EXPECT_EQ(spacing.left(102 * kMillisecond, 4), 8 * kMillisecond);
  EXPECT_EQ(spacing.left(107 * kMillisecond, 4), 3 * kMillisecond);
  EXPECT_EQ(spacing.left(110 * kMillisecond, 4), 0u);
  EXPECT_EQ(spacing.left(500 * kMillisecond, 4), 0u);
  EXPECT_EQ(spacing.left(102 * kMillisecond, 1), 2 * kMillisecond);
  EXPECT_EQ(spacing.left(101 * kMillisecond, 4), 8 * kMillisecond) << "the clock was read before the stop had ended";
  spacing.note(500 * kMillisecond, 501 * kMillisecond);
  EXPECT_EQ(spacing.left(501 * kMillisecond, 4), 4 * kMillisecond);
}

TEST(StopSpacing, HasAnEnd) {
  core::StopSpacing spacing;
  spacing.note(0, 100'000 * kMillisecond);
  EXPECT_EQ(spacing.left(100'000 * kMillisecond, 4), core::StopSpacing::kAtMost);
}

// The thread that waits may be the one that reclaims: a heap grew to seven times its bound beside it.
TEST(StopSpacing, EndsWhenSomethingIsUrgent) {
  core::StopSpacing spacing;
  static std::atomic<int> asked;
  asked = 0;
  // A stop that ends in an hour: each of the looks would wait for as long as it may.
  spacing.note(0, os::nanoseconds() + 3'600'000 * kMillisecond);
  spacing.set_urgent([]() noexcept { return ++asked == 3; });
  spacing.wait(4);
  EXPECT_EQ(asked.load(), 3);
  spacing.set_urgent(nullptr);
  spacing.note(0, 0);
  spacing.wait(4);
  EXPECT_EQ(asked.load(), 3) << "nothing is left to wait for";
}

// A thread that others wait for does not wait itself: one of the program, and one of the heap that has a turn.
TEST(StopSpacing, IsForThreadsOfTheHeap) {
  EXPECT_FALSE(core::stops_are_spaced);
  static std::atomic<int> spaced;
  spaced = -1;
  ASSERT_TRUE(heap::start_background_thread("Freehold test", [](void*) -> void* {
    bool before = core::stops_are_spaced, within = false, inner = false;
    {
      core::UnspacedStops unspaced;
      within = core::stops_are_spaced;
      { core::UnspacedStops again; }
      inner = core::stops_are_spaced;
    }
    spaced = before && !within && !inner && core::stops_are_spaced ? 1 : 0;
    return nullptr;
  }));
  while (spaced == -1) sched_yield();
  EXPECT_EQ(spaced.load(), 1);
}

}  // namespace
}  // namespace freehold::testing
