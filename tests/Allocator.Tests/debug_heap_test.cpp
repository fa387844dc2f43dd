// Debug mode: deleted objects are gone at once, and their types and stacks are known.
#include <atomic>
#include <thread>

#include "core/stop_request.h"
#include "heap_fixture.h"

namespace freehold::testing {
namespace {

using core::Object;
using heap::DeleteResult;

class DebugHeapTest : public HeapTest {
  void configure(core::Knobs& knobs) override { knobs.debug = true; }
};

TEST_F(DebugHeapTest, ADeletedObjectIsGoneAtOnceAndItsTypeKnown) {
  Object* object = allocate(&node_type.table);
  Object* neighbour = allocate(&small_type.table);
  EXPECT_EQ(heap::delete_object(object), DeleteResult::kDeleted);
  uint64_t value;
  EXPECT_FALSE(core::try_load(reinterpret_cast<uint64_t*>(object), &value));
  EXPECT_TRUE(core::try_load(reinterpret_cast<uint64_t*>(neighbour), &value));
  EXPECT_EQ(heap::history_of(reinterpret_cast<uintptr_t>(object)).type, &node_type.table);
  EXPECT_EQ(heap::history_of(reinterpret_cast<uintptr_t>(neighbour)).type, nullptr);
  EXPECT_EQ(heap::take_history().type, nullptr);
  EXPECT_EQ(heap::delete_object(object), DeleteResult::kAlreadyDeleted);
  EXPECT_EQ(heap::take_history().type, &node_type.table);
  EXPECT_EQ(heap::take_history().type, nullptr) << "once";
  expect_valid("debug mode");
}

// The caller is nearly always in here, where the runtime cannot stop it.
TEST_F(DebugHeapTest, ADeletionTellsOfAStopThatWaits) {
  uint32_t traps = 0;
  core::trapped = &traps;
  EXPECT_EQ(heap::delete_object(allocate(&node_type.table)), DeleteResult::kDeleted);
  traps = core::kTrapForStop;
  Object* object = allocate(&node_type.table);
  EXPECT_EQ(heap::delete_object(object), DeleteResult::kStopIsWanted);
  EXPECT_TRUE(heap::has_deleted(DeleteResult::kStopIsWanted));
  EXPECT_EQ(heap::delete_object(object), DeleteResult::kAlreadyDeleted);
  traps = ~core::kTrapForStop;
  EXPECT_EQ(heap::delete_object(allocate(&node_type.table)), DeleteResult::kDeleted);
  core::trapped = &core::kNothingTrapped;
}

TEST_F(DebugHeapTest, EveryByteOfADeletedObjectTellsItsType) {
  for (uint32_t length : {1u, 5'000u, 900'000u, 5'000'000u}) {
    Object* object = allocate(&bytes_type.table, length);
    auto start = reinterpret_cast<uintptr_t>(object->start());
    ASSERT_EQ(heap::delete_object(object), DeleteResult::kDeleted);
    for (uintptr_t at : {start, start + 8, start + length / 2, start + length}) EXPECT_EQ(heap::history_of(at).type, &bytes_type.table) << length;
    EXPECT_EQ(heap::delete_object(object), DeleteResult::kAlreadyDeleted);
  }
  EXPECT_EQ(heap::history_of(core::arena.start - 1).type, nullptr);
  EXPECT_EQ(heap::history_of(core::arena.start + core::arena.size - 1).type, nullptr);
  EXPECT_EQ(heap::history_of(core::arena.start + 7 * core::kSegmentSize).type, nullptr);
}

TEST_F(DebugHeapTest, OldSegmentsAreForgotten) {
  // Records are made by address: no object is needed.
  auto place = [](size_t segment) { return reinterpret_cast<uint8_t*>(core::arena.start + segment * core::kSegmentSize); };
  size_t last = heap::kSegmentsRemembered + 1;
  for (size_t segment = 0; segment <= last; segment++) heap::note_deleted(place(segment), 24, &small_type.table);
  for (size_t segment = 0; segment <= last; segment++) {
    EXPECT_EQ(heap::history_of(reinterpret_cast<uintptr_t>(place(segment))).type, segment < 2 ? nullptr : &small_type.table) << segment;
  }
  heap::note_deleted(place(0), 24, &node_type.table);
  EXPECT_EQ(heap::history_of(reinterpret_cast<uintptr_t>(place(0))).type, &node_type.table);
}

class DebugMprotectTest : public HeapTest {
  void configure(core::Knobs& knobs) override {
    knobs.debug = true;
    knobs.protection = core::Protection::kMprotect;
  }
};

// Objects that live need no mappings of their own: the budget is for the dead.
TEST_F(DebugMprotectTest, ManyLiveObjectsDoNotKeepADeletedOneMapped) {
  for (size_t i = 0; i < core::knobs.map_budget; i++) allocate(&small_type.table);
  Object* object = allocate(&node_type.table);
  allocate(&small_type.table);
  ASSERT_EQ(heap::delete_object(object), DeleteResult::kDeleted);
  uint64_t value;
  EXPECT_FALSE(core::try_load(reinterpret_cast<uint64_t*>(object), &value));
}

class DebugStacksTest : public HeapTest {
  void configure(core::Knobs& knobs) override { knobs.debug = knobs.stacks = true; }
  void SetUp() override {
    HeapTest::SetUp();
    heap::set_stack_walker([](heap::StackOf what, uintptr_t* addresses, size_t capacity) -> size_t {
      EXPECT_EQ(capacity, heap::kStackDepth);
      addresses[0] = what == heap::StackOf::kAllocation ? 0xa110c : 0xde1;
      addresses[1] = walk++;
      return 2;
    });
    walk = 0;
  }
  void TearDown() override {
    heap::set_stack_walker(nullptr);
    HeapTest::TearDown();
  }

 protected:
  static std::vector<uintptr_t> stack(uint32_t number) {
    uintptr_t addresses[heap::kStackDepth];
    return {addresses, addresses + heap::read_stack(number, addresses, heap::kStackDepth)};
  }
  static inline uintptr_t walk;
};

TEST_F(DebugStacksTest, TheStacksOfBothEndsAreKept) {
  using Stack = std::vector<uintptr_t>;
  Object* small = allocate(&node_type.table);
  Object* huge = allocate(&bytes_type.table, 5'000'000);
  heap::delete_object(huge);
  heap::delete_object(small);
  heap::History of_small = heap::history_of(reinterpret_cast<uintptr_t>(small)), of_huge = heap::history_of(reinterpret_cast<uintptr_t>(huge) + 4'900'000);
  EXPECT_EQ(stack(of_small.allocated), (Stack{0xa110c, 0}));
  EXPECT_EQ(stack(of_huge.allocated), (Stack{0xa110c, 1}));
  EXPECT_EQ(stack(of_huge.deleted), (Stack{0xde1, 2}));
  EXPECT_EQ(stack(of_small.deleted), (Stack{0xde1, 3}));
  EXPECT_EQ(heap::delete_object(small), DeleteResult::kAlreadyDeleted);
  EXPECT_EQ(heap::take_history().deleted, of_small.deleted) << "the first deletion is the one to tell";
}

TEST_F(DebugStacksTest, EqualStacksAreKeptOnceAndTheStoreIsBounded) {
  uintptr_t addresses[heap::kStackDepth] = {1, 2, 3};
  EXPECT_EQ(heap::remember_stack(addresses, 0), heap::kNoStack);
  uint32_t first = heap::remember_stack(addresses, 3);
  EXPECT_GT(first, heap::kStackLost);
  EXPECT_EQ(heap::remember_stack(addresses, 3), first);
  EXPECT_NE(heap::remember_stack(addresses, 2), first);
  EXPECT_EQ(stack(heap::kNoStack).size() + stack(heap::kStackLost).size(), 0u);
  size_t kept = 0;
  for (uintptr_t i = 0; i < heap::kStackBytes / sizeof addresses * 2; i++) {
    addresses[5] = i + 10;
    uint32_t number = heap::remember_stack(addresses, heap::kStackDepth);
    if (number == heap::kStackLost) break;
    kept++;
    if (i % 1000 == 0) {
      EXPECT_EQ(stack(number)[5], i + 10);
    }
  }
  EXPECT_GT(kept, heap::kStackBytes / (sizeof addresses + 8) - 10);
  EXPECT_LT(kept, heap::kStackBytes / sizeof addresses);
  EXPECT_EQ(heap::remember_stack(addresses, heap::kStackDepth), heap::kStackLost);
  EXPECT_EQ(stack(first), (std::vector<uintptr_t>{1, 2, 3}));
}
}  // namespace
}  // namespace freehold::testing
