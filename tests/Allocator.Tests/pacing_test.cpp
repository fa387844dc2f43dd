// Threads that wait for frames although some are there (heap/pacing.h): what is behind by far is not to be outrun any further.
#include "heap/pacing.h"

#include <vector>

#include "heap/accounting.h"
#include "heap/promotion_counters.h"
#include "heap/promotion_policy.h"
#include "heap/thread_heap.h"
#include "heap_fixture.h"

namespace freehold::testing {
namespace {

class PacingTest : public HeapTest {
 protected:
  static constexpr uint64_t kFrames = 8;

  void configure(core::Knobs& knobs) override { knobs.promotion = true; }
  void SetUp() override {
    HeapTest::SetUp();
    heap::block_counters.pooled.fetch_add(kFrames);
  }
  void TearDown() override {
    heap::note_blocks_to_come(0);
    heap::block_counters.pooled.fetch_sub(kFrames);
    HeapTest::TearDown();
  }
  static bool waits() {
    uint64_t before = heap::promotion_counters.frame_waits.load();
    heap::wait_for_frames();
    return heap::promotion_counters.frame_waits.load() != before;
  }
  // Fills so many bytes and deletes all but every n-th object, so that pages stay.
  void make_sparse(size_t bytes, size_t n) {
    std::vector<core::Object*> all;
    for (size_t made = 0; made < bytes; made += 1000) all.push_back(allocate(&bytes_type.table, 1000 - 24));
    for (size_t i = 0; i < all.size(); i++) {
      if (i % n != 0) {
        EXPECT_EQ(heap::delete_object(all[i]), heap::DeleteResult::kDeleted);
      }
    }
  }
};

TEST_F(PacingTest, FramesThatWaitAreUsedAtFullSpeedWhileARoundIsBehind) {
  make_sparse(128 << 20, 2);
  heap::note_blocks_to_come(1);
  EXPECT_TRUE(heap::is_over_budget());
  EXPECT_FALSE(heap::is_far_over_budget());
  EXPECT_FALSE(waits());
}

TEST_F(PacingTest, AndSlowlyWhileItIsFarBehind) {
  make_sparse(96 << 20, 4);
  EXPECT_TRUE(heap::is_far_over_budget());
  EXPECT_FALSE(waits()) << "no round is under way: nothing would come of it";
  heap::note_blocks_to_come(1);
  EXPECT_TRUE(waits());
  EXPECT_EQ(heap::thread_heap.paced_windows, core::kWindowsPerBlock);
  heap::note_blocks_to_come(0);
  EXPECT_FALSE(waits());
  EXPECT_EQ(heap::thread_heap.paced_windows, 0u);
}

}  // namespace
}  // namespace freehold::testing
