#include "mesh_fixture.h"

namespace freehold::mesh::testing {
namespace {

class LimitTest : public MeshTest {
  void configure(Knobs& k) override { k.limit = size_t{32} << 20; }
};

TEST_F(LimitTest, AllocationsFailAndLaterSucceed) {
  for (size_t size : {size_t{48}, size_t{256}, size_t{3000}, size_t{20'000}, size_t{300'000}}) {
    std::vector<void*> objects;
    while (void* object = allocate(size)) {
      memset(object, 1, size);
      objects.push_back(object);
      ASSERT_LE(heap.arena.used_pages() << os::kPageShift, size_t{32} << 20);
    }
    EXPECT_GT(objects.size() * size, size_t{24} << 20) << size;
    for (void* object : objects) deallocate(object);
    compact();
    void* again = allocate(size);
    EXPECT_NE(again, nullptr);
    deallocate(again);
    compact();
  }
}

TEST_F(LimitTest, MeshingMakesRoomBeforeAnAllocationFails) {
  std::vector<uint64_t*> kept = sparse(256, 100'000, 20);  // 25 MB of spans, of which a twentieth lives
  void* large = allocate(size_t{20} << 20);
  EXPECT_NE(large, nullptr);
  expect_intact(kept, 256);
  deallocate(large);
  free_all(kept);
}

class SmallSpaceTest : public MeshTest {
  void configure(Knobs& k) override { k.address_space = size_t{192} << 20; }
};

TEST_F(SmallSpaceTest, AddressesRunOutWithoutHarm) {
  std::vector<void*> objects;
  while (void* object = allocate(1000)) objects.push_back(object);
  while (void* object = allocate(1'000'000)) objects.push_back(object);
  EXPECT_GT(objects.size(), 60'000u);
  for (void* object : objects) deallocate(object);
  void* again = allocate(1000);
  EXPECT_NE(again, nullptr);
  deallocate(again);
}

}  // namespace
}  // namespace freehold::mesh::testing
