#include "mesh_fixture.h"

namespace freehold::mesh::testing {
namespace {

class ZeroingTest : public MeshTest {};

TEST_F(ZeroingTest, MemoryThatWasUsedBeforeIsZero) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 300; round++) {
    size_t size = round % 3 == 0 ? random() % 500 : round % 3 == 1 ? random() % 40'000 : random() % 2'000'000;
    auto* object = static_cast<unsigned char*>(allocate_zeroed(1, size));
    ASSERT_NE(object, nullptr);
    for (size_t i = 0; i < size; i++) ASSERT_EQ(object[i], 0) << "byte " << i << " of " << size;
    memset(object, 0xaa, usable_size(object));
    deallocate(object);
    if (round % 50 == 49) compact();  // some of it was given back meanwhile
  }
}

TEST_F(ZeroingTest, AProductThatOverflowsIsRefused) {
  EXPECT_EQ(allocate_zeroed(size_t{1} << 33, size_t{1} << 33), nullptr);
  EXPECT_EQ(allocate_zeroed(SIZE_MAX, 2), nullptr);
  void* none = allocate_zeroed(0, 100);
  EXPECT_NE(none, nullptr);
  deallocate(none);
}

}  // namespace
}  // namespace freehold::mesh::testing
