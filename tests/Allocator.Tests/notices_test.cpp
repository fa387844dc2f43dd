// What the program is told of: shortage of memory, once until there is some again, and growth.
#include "heap/notices.h"

#include <algorithm>
#include <thread>

#include "Platform/memory_budget.h"
#include "heap/accounting.h"
#include "heap_fixture.h"
#include "os/meshing.h"

namespace freehold::testing {

// Stands in for the meshing malloc, which the tests are not linked with.
struct MeshingMalloc {
  uint64_t used = 0, cached = 0;
};
MeshingMalloc meshing_malloc;

}  // namespace freehold::testing

void freehold_mesh_figures(uint64_t* values, int32_t count) {
  std::fill_n(values, count, 0);
  values[0] = freehold::testing::meshing_malloc.used;
  values[1] = freehold::testing::meshing_malloc.cached;
}

namespace freehold::testing {
namespace {

using heap::NoticeGiven;

class NoticesTest : public HeapTest {
 protected:
  static constexpr size_t kLimit = size_t{64} << 20;
  static constexpr uint32_t kLength = 1'000'000 - 24;  // blocks of their own

  void SetUp() override {
    HeapTest::SetUp();
    heap::set_limit(kLimit);
  }

  void fill(size_t eighths) {
    while (heap::memory_footprint() <= kLimit / 8 * eighths) items_.push_back(allocate(&bytes_type.table, kLength));
  }
  void empty(size_t eighths) {
    while (heap::memory_footprint() > kLimit / 8 * eighths) {
      heap::delete_object(items_.back());
      items_.pop_back();
      heap::collect();
    }
  }
  // What the background thread finds at its next look.
  static uint64_t given() {
    heap::give_notice();
    NoticeGiven notice = {};
    return heap::take_notice(&notice) ? notice.notices : 0;
  }

  std::vector<core::Object*> items_;
};

TEST_F(NoticesTest, ShortageIsToldOnceUntilItIsOver) {
  heap::listen(heap::kPressure);
  EXPECT_FALSE(heap::is_notice_due());
  for (int round = 0; round < 3; round++) {
    fill(6);
    EXPECT_FALSE(heap::is_notice_due());
    EXPECT_EQ(given(), 0u);
    fill(7);
    EXPECT_TRUE(heap::is_notice_due());
    heap::give_notice();
    NoticeGiven notice;
    ASSERT_TRUE(heap::take_notice(&notice));
    EXPECT_EQ(notice.notices, heap::kPressure);
    EXPECT_GT(notice.footprint, kLimit / 8 * 7);
    EXPECT_LE(notice.footprint, kLimit);
    EXPECT_GE(notice.live, items_.size() * kLength);
    EXPECT_EQ(notice.limit, kLimit);
    EXPECT_EQ(notice.native, 0u);
    // Around the threshold: not again.
    for (int i = 0; i < 3; i++) {
      empty(7);
      EXPECT_EQ(given(), 0u);
      fill(7);
      EXPECT_FALSE(heap::is_notice_due());
      EXPECT_EQ(given(), 0u);
    }
    empty(6);
    EXPECT_TRUE(heap::is_notice_due()) << "it is over";
    EXPECT_EQ(given(), 0u);
    EXPECT_FALSE(heap::is_notice_due());
  }
}

TEST_F(NoticesTest, NobodyListens) {
  fill(7);
  EXPECT_FALSE(heap::is_notice_due());
  heap::note_limit_reached();
  EXPECT_EQ(given(), 0u);
  heap::listen(heap::kGrowth);
  EXPECT_EQ(given(), 0u) << "of leaks only in report mode";
  // Who comes late is told too.
  heap::listen(heap::kPressure);
  EXPECT_EQ(given(), heap::kPressure);
}

TEST_F(NoticesTest, AnAllocationThatFindsNoRoomTells) {
  heap::listen(heap::kPressure);
  core::knobs.reclaim = core::Reclaim::kOff;
  EXPECT_EQ(allocate(&bytes_type.table, 70'000'000), nullptr);
  NoticeGiven notice;
  ASSERT_TRUE(heap::take_notice(&notice));
  EXPECT_EQ(notice.notices, heap::kPressure);
}

TEST_F(NoticesTest, WhatTheProcessMayHaveCountsToo) {
  heap::listen(heap::kPressure);
  heap::set_process_memory(kLimit / 2);
  fill(3);
  EXPECT_EQ(given(), 0u);
  fill(4);
  EXPECT_EQ(given(), heap::kPressure);
}

TEST_F(NoticesTest, SoDoesTheMemoryOfTheMeshingMalloc) {
  heap::listen(heap::kPressure);
  heap::set_process_memory(kLimit);
  fill(3);
  // As the meshing malloc joins, and stays.
  static constexpr os::BudgetOwner owner = {"test", []() noexcept { return meshing_malloc.used + meshing_malloc.cached; }, [](os::GiveBack) noexcept {},
                                            []() noexcept { return true; }};
  os::join_budget(owner);
  meshing_malloc = {kLimit / 8 * 2, kLimit / 8};
  EXPECT_EQ(given(), 0u);
  meshing_malloc.used = kLimit / 8 * 4;
  heap::give_notice();
  NoticeGiven notice;
  ASSERT_TRUE(heap::take_notice(&notice));
  EXPECT_EQ(notice.notices, heap::kPressure);
  EXPECT_EQ(notice.native, kLimit / 8 * 5);
  EXPECT_EQ(notice.process_memory, kLimit);
  meshing_malloc = {};
}

TEST_F(NoticesTest, GrowthIsToldInReportMode) {
  core::knobs.reclaim = core::Reclaim::kReport;
  heap::set_limit(size_t{1} << 30);
  heap::listen(heap::kGrowth);
  auto grow = [this](size_t megabytes) {
    for (size_t i = 0; i < megabytes; i++) items_.push_back(allocate(&bytes_type.table, 1 << 20));
  };
  grow(30);
  EXPECT_EQ(given(), 0u);
  grow(10);
  EXPECT_EQ(given(), heap::kGrowth);
  EXPECT_EQ(given(), 0u);
  grow(35);
  EXPECT_EQ(given(), 0u) << "not by 100%";
  grow(10);
  EXPECT_EQ(given(), heap::kGrowth);
}

TEST_F(NoticesTest, AThreadWaitsForTheNext) {
  heap::listen(heap::kPressure);
  NoticeGiven notice = {};
  std::thread waiter([&notice] { heap::wait_for_notice(&notice); });
  heap::note_limit_reached();
  waiter.join();
  EXPECT_EQ(notice.notices, heap::kPressure);
}

}  // namespace
}  // namespace freehold::testing
