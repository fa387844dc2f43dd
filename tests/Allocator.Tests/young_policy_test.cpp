// When a reclaim is of young objects alone (heap/young_policy.h).
#include "heap/young_policy.h"

#include "concurrent_reclaim_fixture.h"
#include "heap/reclaim_policy.h"
#include "heap/young_blocks.h"

namespace freehold::testing::beside {
namespace {

using heap::ReclaimDue;
using heap::Reclaimed;
using heap::ReclaimScope;

constexpr uint64_t kMega = 1 << 20, kGrowth = 400 * kMega;

class YoungPolicyTest : public ConcurrentReclaimTest {
 protected:
  void SetUp() override {
    ConcurrentReclaimTest::SetUp();
    ASSERT_GE(heap::reclaim(), 0);
    ASSERT_TRUE(heap::are_blocks_young());
    live_ = 0;
    note(ReclaimScope::kAll, 0);
  }

  // The heap has grown so far, and so much of it has gone.
  void note(ReclaimScope scope, uint64_t grown, uint64_t deleted = 0, uint64_t cost = 0, bool marked = true) {
    uint64_t begun = live_ + grown;
    live_ = begun - deleted;
    heap::note_for_young({scope, marked, deleted, live_, cost}, begun);
  }
  ReclaimDue due_after(uint64_t grown) { return heap::young_due(live_ + grown, kGrowth); }

  uint64_t live_ = 0;
};

TEST_F(YoungPolicyTest, AfterAQuarterOfTheGrowth) {
  EXPECT_EQ(due_after(100 * kMega - 1), ReclaimDue::kNothing);
  EXPECT_EQ(due_after(100 * kMega), ReclaimDue::kYoung);
  note(ReclaimScope::kYoung, 100 * kMega, 90 * kMega);
  EXPECT_EQ(due_after(99 * kMega), ReclaimDue::kNothing);
  EXPECT_EQ(due_after(100 * kMega), ReclaimDue::kYoung);
  // A small heap is looked through as a whole.
  EXPECT_EQ(heap::young_due(live_ + 32 * kMega, 32 * kMega), ReclaimDue::kNothing);
  EXPECT_EQ(heap::young_due(live_ + 32 * kMega, 64 * kMega), ReclaimDue::kYoung);
  EXPECT_EQ(heap::young_due(live_ + 31 * kMega, 64 * kMega), ReclaimDue::kNothing);
}

TEST_F(YoungPolicyTest, NotWhereTheSettingsForbid) {
  core::knobs.reclaim_young = false;
  EXPECT_EQ(due_after(100 * kMega), ReclaimDue::kNothing);
  core::knobs.reclaim_young = true;
  core::knobs.reclaim_concurrent = false;
  EXPECT_EQ(due_after(100 * kMega), ReclaimDue::kNothing);
  core::knobs.reclaim_concurrent = true;
  core::knobs.reclaim = core::Reclaim::kManual;
  EXPECT_EQ(due_after(100 * kMega), ReclaimDue::kNothing);
}

TEST_F(YoungPolicyTest, SoManyInARow) {
  for (int i = 0; i < 16; i++) {
    ASSERT_EQ(due_after(100 * kMega), ReclaimDue::kYoung) << i;
    note(ReclaimScope::kYoung, 100 * kMega, 100 * kMega);
  }
  EXPECT_EQ(due_after(99 * kMega), ReclaimDue::kNothing);
  EXPECT_EQ(due_after(100 * kMega), ReclaimDue::kAll);
  note(ReclaimScope::kAll, 100 * kMega, 100 * kMega);
  EXPECT_EQ(due_after(100 * kMega), ReclaimDue::kYoung);
}

// One that does not pay leaves out the next one, then two, four, eight, eight.
TEST_F(YoungPolicyTest, NotAsLongAsItDoesNotPay) {
  for (int left : {1, 2, 4, 8, 8}) {
    ASSERT_EQ(due_after(100 * kMega), ReclaimDue::kYoung);
    note(ReclaimScope::kYoung, 100 * kMega, 20 * kMega);
    for (int i = 0; i < left; i++) {
      EXPECT_EQ(due_after(399 * kMega), ReclaimDue::kNothing) << left << " " << i;
      note(ReclaimScope::kAll, kGrowth, kGrowth);
    }
  }
  note(ReclaimScope::kYoung, 100 * kMega, 30 * kMega);
  EXPECT_EQ(due_after(100 * kMega), ReclaimDue::kYoung);
  note(ReclaimScope::kYoung, 100 * kMega, 20 * kMega);
  EXPECT_EQ(due_after(100 * kMega), ReclaimDue::kNothing);
  note(ReclaimScope::kAll, kGrowth);
  EXPECT_EQ(due_after(100 * kMega), ReclaimDue::kYoung);
}

TEST_F(YoungPolicyTest, NorWhenItIsDearer) {
  note(ReclaimScope::kAll, kGrowth, 200 * kMega, 1'000'000'000);
  note(ReclaimScope::kYoung, 100 * kMega, 100 * kMega, 400'000'000);
  EXPECT_EQ(due_after(100 * kMega), ReclaimDue::kYoung);
  // One that deleted next to nothing says nothing of the price.
  note(ReclaimScope::kAll, 100 * kMega, 1 * kMega, 1);
  note(ReclaimScope::kYoung, 100 * kMega, 100 * kMega, 500'000'000);
  EXPECT_EQ(due_after(100 * kMega), ReclaimDue::kYoung);
  note(ReclaimScope::kYoung, 100 * kMega, 100 * kMega, 600'000'000);
  EXPECT_EQ(due_after(100 * kMega), ReclaimDue::kNothing);
}

// A call of the program with nothing new to find, or one without memory, is no sign of anything.
TEST_F(YoungPolicyTest, OnlyWhatIsWorthIt) {
  note(ReclaimScope::kYoung, 1 * kMega);
  EXPECT_EQ(due_after(100 * kMega), ReclaimDue::kYoung);
  note(ReclaimScope::kYoung, 100 * kMega, 0, 0, false);
  EXPECT_EQ(due_after(100 * kMega), ReclaimDue::kYoung);
}

TEST_F(YoungPolicyTest, TheHeapAsksForIt) {
  size_t before = heap::limit();
  heap::set_limit(size_t{4} << 30);
  mine_ = {allocate(&bytes_type.table, 200 << 20)};
  ASSERT_EQ(heap::reclaim_due(), ReclaimDue::kAll);
  ASSERT_GE(heap::reclaim(), 0);
  // Of no use: twice the growth is asked until one is. A young one after a quarter of that.
  allocate(&bytes_type.table, 90 << 20);
  EXPECT_EQ(heap::reclaim_due(), ReclaimDue::kNothing);
  allocate(&bytes_type.table, 15 << 20);
  EXPECT_EQ(heap::reclaim_due(), ReclaimDue::kYoung);
  ASSERT_EQ(heap::reclaim(ReclaimScope::kYoung), 0);
  // Both are above 1 MB, and old.
  EXPECT_EQ(heap::reclaim_due(), ReclaimDue::kNothing);
  allocate(&bytes_type.table, 290 << 20);
  EXPECT_EQ(heap::reclaim_due(), ReclaimDue::kNothing);
  allocate(&bytes_type.table, 10 << 20);
  EXPECT_EQ(heap::reclaim_due(), ReclaimDue::kAll);
  heap::set_limit(before);
}

}  // namespace
}  // namespace freehold::testing::beside
