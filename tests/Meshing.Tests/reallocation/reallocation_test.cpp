#include "mesh_fixture.h"

namespace freehold::mesh::testing {
namespace {

class ReallocationTest : public MeshTest {};

TEST_F(ReallocationTest, ContentsGoAlong) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 60; round++) {
    size_t size = 1 + random() % 100;
    auto* object = static_cast<unsigned char*>(reallocate(nullptr, size));
    for (size_t i = 0; i < size; i++) object[i] = static_cast<unsigned char>(i * 7);
    for (int step = 0; step < 30; step++) {
      size_t next = random() % 4 == 0 ? 1 + random() % 12'000'000 : 1 + random() % (1u << (4 + random() % 16));
      object = static_cast<unsigned char*>(reallocate(object, next));
      ASSERT_NE(object, nullptr);
      for (size_t i = 0; i < std::min(size, next); i++) ASSERT_EQ(object[i], static_cast<unsigned char>(i * 7)) << size << " to " << next;
      for (size_t i = size; i < next; i++) object[i] = static_cast<unsigned char>(i * 7);
      size = next;
    }
    deallocate(object);
  }
}

TEST_F(ReallocationTest, ALargeObjectGrowsWhereItIs) {
  void* object = allocate(1 << 20);
  EXPECT_EQ(reallocate(object, 2 << 20), object);
  EXPECT_EQ(reallocate(object, 1 << 20), object);
  deallocate(object);
}

TEST_F(ReallocationTest, FramesMoveInsteadOfBytes) {
  size_t size = size_t{8} << 20;
  auto* object = static_cast<char*>(allocate(size));
  void* behind = allocate(size);  // in the way
  memset(object, 5, size);
  uint64_t moves = os::call_count(os::Call::kMremap);
  auto* moved = static_cast<char*>(reallocate(object, 3 * size));
  EXPECT_EQ(os::call_count(os::Call::kMremap), moves + 1);
  EXPECT_NE(moved, object);
  for (size_t i = 0; i < size; i += 1000) ASSERT_EQ(moved[i], 5);
  deallocate(moved);
  auto* zero = static_cast<char*>(allocate_zeroed(1, 3 * size));
  for (size_t i = 0; i < 3 * size; i += 512) ASSERT_EQ(zero[i], 0);
  deallocate(zero);
  deallocate(behind);
}

TEST_F(ReallocationTest, WithoutMemoryTheOldObjectStays) {
  auto* object = static_cast<char*>(allocate(100));
  memset(object, 9, 100);
  EXPECT_EQ(reallocate(object, size_t{1} << 46), nullptr);
  for (int i = 0; i < 100; i++) EXPECT_EQ(object[i], 9);
  deallocate(object);
}

}  // namespace
}  // namespace freehold::mesh::testing
