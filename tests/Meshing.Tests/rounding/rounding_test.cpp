// Sizes: each gets the smallest class that holds it, and all that is promised can be used.
#include <unistd.h>

#include "mesh_fixture.h"

namespace freehold::mesh::testing {
namespace {

class RoundingTest : public MeshTest {};

TEST_F(RoundingTest, EachSizeGetsTheSmallestClassThatHoldsIt) {
  for (size_t size = 0; size <= kMaximalSmall; size++) {
    uint32_t c = class_of(size);
    ASSERT_GE(c, 1u);
    ASSERT_LT(c, kClasses);
    ASSERT_GE(kSizeClasses[c].size, size);
    if (c > 1) {
      ASSERT_LT(kSizeClasses[c - 1].size, size);
    }
    if (size > 128) {
      ASSERT_LE((kSizeClasses[c].size - size) * 4, kSizeClasses[c].size) << size;
    }
  }
}

TEST_F(RoundingTest, SpansHoldWholeSlotsAndAShuffleVectorTwoSpans) {
  for (uint32_t c = 1; c < kClasses; c++) {
    const SizeClass& k = kSizeClasses[c];
    EXPECT_LE(size_t{k.slots} * k.size, size_t{k.pages} * os::kPageSize);
    EXPECT_LE(k.slots, kMaximalSlots);
    EXPECT_GE(k.capacity, 2 * k.slots) << k.size;
    EXPECT_EQ(k.size % kAlignment, 0u);
    if (is_meshable(c)) {
      EXPECT_LE(k.pages, MeshableArena::kMaximalSpan) << k.size;
    }
    for (uint32_t slot = 0; slot < k.slots; slot++) ASSERT_EQ(uint64_t{slot} * k.size * k.reciprocal >> 48, slot) << k.size;
  }
}

// The multiplication is the division, for every offset in a span.
TEST_F(RoundingTest, AnAddressLeadsToItsSlot) {
  for (uint32_t c = 1; c < kClasses; c++) {
    const SizeClass& k = kSizeClasses[c];
    for (uint64_t offset = 0; offset < uint64_t{k.pages} * os::kPageSize; offset++)
      ASSERT_EQ(offset * k.reciprocal >> 48, offset / k.size) << offset << " in slots of " << k.size;
  }
}

TEST_F(RoundingTest, SmallObjectsAreAlignedForEveryType) {
  EXPECT_GE(kSizeClasses[1].size, alignof(max_align_t));
  EXPECT_EQ(kAlignment % alignof(max_align_t), 0u);
  for (uint32_t c = 1; c < kClasses; c++) EXPECT_EQ(class_of(kSizeClasses[c].size), c) << "the size of a class is in that class";
}

TEST_F(RoundingTest, PagesAreTheKernels) {
  EXPECT_EQ(static_cast<size_t>(sysconf(_SC_PAGESIZE)), os::kPageSize);
  EXPECT_EQ(size_t{1} << os::kPageShift, os::kPageSize);
}

TEST_F(RoundingTest, TheUsableSizeCanBeWritten) {
  std::vector<std::pair<unsigned char*, size_t>> all;
  for (size_t size : {0, 1, 15, 16, 17, 100, 129, 1000, 3584, 3585, 4096, 5000, 32'768, 32'769, 100'000, 3'000'000}) {
    for (int i = 0; i < 3; i++) {
      auto* object = static_cast<unsigned char*>(allocate(size));
      ASSERT_NE(object, nullptr);
      size_t usable = usable_size(object);
      ASSERT_GE(usable, size);
      memset(object, static_cast<int>(all.size()), usable);
      all.emplace_back(object, usable);
    }
  }
  for (size_t i = 0; i < all.size(); i++) {
    for (size_t k = 0; k < all[i].second; k++) ASSERT_EQ(all[i].first[k], i);
    deallocate(all[i].first);
  }
}

TEST_F(RoundingTest, ImpossibleSizesAreRefused) {
  // As unsigned numbers these are the largest: no two such objects may come to lie over one another.
  for (size_t below : {size_t{1}, size_t{8}, size_t{4096}}) EXPECT_EQ(allocate(-below), nullptr);
  EXPECT_EQ(allocate(size_t{PTRDIFF_MAX} + 1), nullptr);
  EXPECT_EQ(allocate(size_t{1} << 46), nullptr);
  EXPECT_EQ(allocate_zeroed(SIZE_MAX / 2, 3), nullptr);
  // Nor does a large object become one of a part of the size.
  void* large = allocate(1 << 20);
  size_t usable = usable_size(large);
  for (size_t size : {size_t{1} << 44, (size_t{1} << 44) + 65'536, (size_t{1} << 45) + (1 << 20)}) {
    EXPECT_EQ(reallocate(large, size), nullptr) << size;
    EXPECT_EQ(usable_size(large), usable);
  }
  deallocate(large);
  EXPECT_EQ(allocate_aligned(SIZE_MAX - 10, 4096), nullptr);
}

}  // namespace
}  // namespace freehold::mesh::testing
