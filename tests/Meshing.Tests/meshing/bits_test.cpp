// The bits of a MiniHeap, the order of a shuffle vector, and the generator behind it.
#include <set>

#include "mesh_fixture.h"

namespace freehold::mesh::testing {
namespace {

TEST(BitsTest, TheFirstSlotsAndTheirNumber) {
  for (uint32_t slots = 0; slots <= kMaximalSlots; slots++) {
    Bits bits = Bits::first(slots);
    EXPECT_EQ(bits.count(), slots);
    EXPECT_EQ(bits.any(), slots != 0);
    for (uint32_t slot = 0; slot < kMaximalSlots; slot++) ASSERT_EQ((bits.words[slot / 64] >> slot % 64 & 1) != 0, slot < slots) << slot << " of " << slots;
  }
}

// Against a set of numbers.
TEST(BitsTest, CountsAndIntersections) {
  std::mt19937 random(5);
  for (int round = 0; round < 2000; round++) {
    Bits bits[2] = {};
    std::set<uint32_t> sets[2];
    for (int i = 0; i < 2; i++) {
      for (uint32_t n = random() % 20; n > 0; n--) {
        uint32_t slot = random() % kMaximalSlots;
        bits[i].words[slot / 64] |= uint64_t{1} << slot % 64;
        sets[i].insert(slot);
      }
      ASSERT_EQ(bits[i].count(), sets[i].size());
    }
    bool common = std::any_of(sets[0].begin(), sets[0].end(), [&](uint32_t slot) { return sets[1].count(slot) != 0; });
    ASSERT_EQ(bits[0].intersects(bits[1]), common);
    ASSERT_EQ(bits[0] == bits[1], sets[0] == sets[1]);
  }
}

// A thread's words for one span are not those of a thread for another.
TEST(BitsTest, AMiniHeapIsACacheLine) {
  EXPECT_EQ(sizeof(MiniHeap), 64u);
  EXPECT_EQ(alignof(MiniHeap), 64u);
}

class SlotOrderTest : public MeshTest {};

// A refill hands out each slot of its spans once, in an order that is not that of the addresses.
TEST_F(SlotOrderTest, EachSlotOnceInRandomOrder) {
  for (uint32_t c = 1; c < kClasses && is_meshable(c); c++) {
    const SizeClass& k = kSizeClasses[c];
    std::vector<char*> objects;
    for (uint32_t i = 0; i < 3 * k.slots; i++) objects.push_back(static_cast<char*>(allocate(k.size)));
    std::set<char*> different(objects.begin(), objects.end());
    EXPECT_EQ(different.size(), objects.size()) << k.size;
    EXPECT_FALSE(std::is_sorted(objects.begin(), objects.end())) << k.size;
    EXPECT_FALSE(std::is_sorted(objects.rbegin(), objects.rend())) << k.size;
    for (char* object : objects) {
      uint32_t slot = heap.global.slot_of(heap.global[heap.arena.word(object).index()], object);
      EXPECT_LT(slot, k.slots);
    }
    for (char* object : objects) deallocate(object);
  }
}

TEST(RandomTest, StaysBelowItsBoundAndReachesAll) {
  Random random(11);
  for (uint32_t bound : {1u, 2u, 3u, 100u}) {
    std::set<uint32_t> seen;
    for (int i = 0; i < 10'000; i++) {
      uint32_t number = random.below(bound);
      ASSERT_LT(number, bound);
      seen.insert(number);
    }
    EXPECT_EQ(seen.size(), bound);
  }
}

}  // namespace
}  // namespace freehold::mesh::testing
