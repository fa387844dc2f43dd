// Stacks that are found again by their return addresses. A stack of a test is an array of words.
#include "heap/known_stacks.h"

#include <sys/mman.h>

#include <vector>

#include "heap_fixture.h"

namespace freehold::testing {
namespace {

using Stack = std::vector<uintptr_t>;

class KnownStacksTest : public HeapTest {
 protected:
  uintptr_t slot(size_t word) const { return reinterpret_cast<uintptr_t>(words_ + word); }
  // Two native frames and two that are told.
  void walk(const void* thread, size_t capacity) {
    heap::WalkedStack walked(slot(2));
    walked.add(slot(0), 0x10, false);  // below: of the walk itself
    walked.add(slot(2), words_[2], false);
    walked.add(slot(4), words_[4], false);
    walked.add(slot(5), words_[5], true);
    walked.add(slot(9), words_[9], true);
    heap::remember_known_stack(heap::StackOf::kAllocation, thread, walked, capacity);
  }
  Stack find(const void* thread, size_t capacity, size_t start = 2) const {
    uintptr_t addresses[heap::kStackDepth];
    return {addresses, addresses + heap::find_known_stack(heap::StackOf::kAllocation, thread, slot(start), addresses, capacity)};
  }

  uintptr_t words_[12] = {0, 1, 0x22, 3, 0x44, 0x55, 6, 7, 8, 0x99, 10, 11};
  int thread_ = 0, other_thread_ = 0;
};

TEST_F(KnownStacksTest, AreFoundWhereEveryAddressLiesWhereItLay) {
  EXPECT_EQ(find(&thread_, 32), Stack{});
  walk(&thread_, 32);
  EXPECT_EQ(find(&thread_, 32), (Stack{0x55, 0x99}));
  words_[3] = words_[7] = 0x777;  // no slots
  EXPECT_EQ(find(&thread_, 32), (Stack{0x55, 0x99}));
  for (size_t i : {2, 4, 5, 9}) {
    uintptr_t old = std::exchange(words_[i], 0x333);
    EXPECT_EQ(find(&thread_, 32), Stack{}) << i;
    words_[i] = old;
  }
  EXPECT_EQ(find(&thread_, 32), (Stack{0x55, 0x99}));
  EXPECT_EQ(find(&other_thread_, 32), Stack{});
  EXPECT_EQ(find(&thread_, 16), Stack{}) << "it may have been cut";
  EXPECT_EQ(find(&thread_, 32, 3), Stack{});
}

TEST_F(KnownStacksTest, SeveralBeginAtOnePlace) {
  for (uintptr_t i = 0; i < 20; i++) {
    words_[9] = 0x100 + i;
    walk(&thread_, 32);
  }
  for (uintptr_t i = 12; i < 20; i++) {
    words_[9] = 0x100 + i;
    EXPECT_EQ(find(&thread_, 32), (Stack{0x55, 0x100 + i}));
  }
}

// Both may begin at one place.
TEST_F(KnownStacksTest, OneOfAnAllocationIsNoneOfADeletion) {
  heap::WalkedStack walked(slot(2));
  walked.add(slot(2), words_[2], true);
  heap::remember_known_stack(heap::StackOf::kDeletion, &thread_, walked, 32);
  EXPECT_EQ(find(&thread_, 32), Stack{});
  EXPECT_EQ(heap::known_stack_counters.remembered[static_cast<size_t>(heap::StackOf::kDeletion)].load(), 1u);
}

TEST_F(KnownStacksTest, OneWithAFrameWithoutASlotIsNotRemembered) {
  heap::WalkedStack walked(slot(2));
  walked.add(slot(2), words_[2], true);
  walked.add(slot(4), 0x45, true);  // not what lies there
  walked.add(slot(5), words_[5], true);
  heap::remember_known_stack(heap::StackOf::kAllocation, &thread_, walked, 32);
  EXPECT_EQ(find(&thread_, 32), Stack{});
  heap::WalkedStack below(slot(2));
  below.add(slot(1), words_[1], true);
  below.add(slot(4), words_[4], true);
  heap::remember_known_stack(heap::StackOf::kAllocation, &thread_, below, 32);
  EXPECT_EQ(find(&thread_, 32), Stack{});
  heap::WalkedStack none(slot(2));
  none.add(slot(2), words_[2], false);
  heap::remember_known_stack(heap::StackOf::kAllocation, &thread_, none, 32);
  EXPECT_EQ(find(&thread_, 32), Stack{});
}

TEST_F(KnownStacksTest, OneThatIsTooDeepIsNotRemembered) {
  std::vector<uintptr_t> deep(2 * heap::WalkedStack::kAtMost, 0x77);
  heap::WalkedStack walked(reinterpret_cast<uintptr_t>(deep.data()));
  for (uintptr_t& word : deep) walked.add(reinterpret_cast<uintptr_t>(&word), word, true);
  heap::remember_known_stack(heap::StackOf::kAllocation, &thread_, walked, 32);
  uintptr_t addresses[heap::WalkedStack::kAtMost];
  EXPECT_EQ(heap::find_known_stack(heap::StackOf::kAllocation, &thread_, reinterpret_cast<uintptr_t>(deep.data()), addresses, 32), 0u);
}

TEST_F(KnownStacksTest, TheStackMayBeGone) {
  void* stack = mmap(nullptr, core::kPageSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(stack, MAP_FAILED);
  auto start = reinterpret_cast<uintptr_t>(stack);
  *static_cast<uintptr_t*>(stack) = 0x77;
  heap::WalkedStack walked(start);
  walked.add(start, 0x77, true);
  heap::remember_known_stack(heap::StackOf::kAllocation, &thread_, walked, 32);
  uintptr_t addresses[heap::kStackDepth];
  EXPECT_EQ(heap::find_known_stack(heap::StackOf::kAllocation, &thread_, start, addresses, 32), 1u);
  munmap(stack, core::kPageSize);
  EXPECT_EQ(heap::find_known_stack(heap::StackOf::kAllocation, &thread_, start, addresses, 32), 0u);
}

}  // namespace
}  // namespace freehold::testing
