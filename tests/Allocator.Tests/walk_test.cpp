// What a walk makes of objects that change or go away between two words that it reads of them.
#include "heap/walk.h"

#include "heap_fixture.h"

namespace freehold::testing {
namespace {

using core::Object;

class WalkTest : public HeapTest {};

// A walk beside a stop of somebody else has read the length of an array before its thread had stored it, and asks when all threads stand.
TEST_F(WalkTest, ALengthThatWasReadBeforeAStopIsReadAgain) {
  Object *empty = allocate(&bytes_type.table, 0), *filled = allocate(&bytes_type.table, 100);
  heap::set_threads_stopped(true);
  EXPECT_FALSE(heap::may_be_unfinished(empty->start(), 24));
  EXPECT_TRUE(heap::may_be_unfinished(filled->start(), 24));
  heap::set_threads_stopped(false);
}

// Only an object that reaches into the next page is cut off. Of one whose words lie on one page, that page has gone away meanwhile.
TEST_F(WalkTest, OnlyWhatReachesIntoTheNextPageIsCutOff) {
  auto* page = reinterpret_cast<const uint8_t*>(core::arena.start + 64 * core::kPageSize);
  for (size_t before : {size_t{8}, size_t{16}}) {
    heap::Walked walked = heap::cut_off(page - before, core::kDeletedBit, page);
    EXPECT_EQ(walked.step, heap::Step::kFiller);
    EXPECT_EQ(walked.size, before);
  }
  EXPECT_EQ(heap::cut_off(page - 8, 0, page).step, heap::Step::kEnd);
  EXPECT_EQ(heap::cut_off(page - 800, core::kDeletedBit, page - 792).step, heap::Step::kEnd);
}

}  // namespace
}  // namespace freehold::testing
