// What the heap's figures say while threads count: a sum of relaxed counters may be of no moment that ever was, and must still be no nonsense.
#include "heap/accounting.h"

#include "heap_fixture.h"

namespace freehold::testing {
namespace {

using core::kBlockSize;
using core::kPageSize;
using heap::block_counters;

class Accounting : public HeapTest {
 protected:
  // A block has gone, and the pages of it that had been released are still counted: what end_block() shows for a moment.
  void SetUp() override {
    HeapTest::SetUp();
    ASSERT_NE(allocate(&bytes_type.table, 1'000'000), nullptr);
    released_ = block_counters.released_pages.load();
    resident_ = heap::resident_memory();
    block_counters.released_pages += resident_ / kPageSize + 3;
  }
  void TearDown() override {
    block_counters.released_pages = released_;
    HeapTest::TearDown();
  }

  size_t resident_ = 0;

 private:
  uint64_t released_ = 0;
};

TEST_F(Accounting, LessThanNothingIsNothing) {
  EXPECT_EQ(heap::resident_memory(), 0u);
  EXPECT_EQ(heap::memory_footprint(), 0u);
  EXPECT_EQ(heap::budget_owner.held(), 0u);
  block_counters.released_pages -= 4;
  EXPECT_EQ(heap::resident_memory(), resident_ % kPageSize + kPageSize);
}

// The same moment before an allocation: no limit is reached, and the other heaps are not told that this one has the whole address space.
TEST_F(Accounting, NoAllocationIsRefusedForIt) {
  size_t limit = heap::own_limit();
  heap::set_limit(16 * kBlockSize);
  EXPECT_FALSE(heap::is_over_limit(kBlockSize));
  EXPECT_TRUE(heap::has_room_for_large());
  os::set_memory_limit(64 * kBlockSize);
  EXPECT_FALSE(heap::is_short_of_budget(kBlockSize));
  EXPECT_LT(os::held_by_all(), 64 * kBlockSize);
  os::set_memory_limit(0);
  heap::set_limit(limit);
}

// The pool is counted apart from the blocks that are live: it may be seen larger than what is held at all.
TEST_F(Accounting, APoolLargerThanWhatIsHeldLeavesNothing) {
  block_counters.released_pages -= 4;
  block_counters.pooled += 1;
  block_counters.released_pages += kBlockSize / kPageSize;
  EXPECT_EQ(heap::memory_footprint(), 0u);
  block_counters.pooled -= 1;
}

TEST_F(Accounting, FewerDeadPagesThanNoneAreNone) {
  uint64_t before = block_counters.dead_pages_of_no_thread.load();
  block_counters.dead_pages_of_no_thread = uint64_t{0} - heap::thread_totals().dead_pages - 2;
  EXPECT_EQ(heap::dead_pages(), 0u);
  block_counters.dead_pages_of_no_thread = before;
}

}  // namespace
}  // namespace freehold::testing
