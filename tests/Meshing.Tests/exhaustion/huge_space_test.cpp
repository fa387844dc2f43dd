// More address space than there are numbers of pages.
#include "mesh_fixture.h"

namespace freehold::mesh::testing {
namespace {

// Pages have numbers of 32 bits.
class HugeSpace : public MeshTest {
  void configure(Knobs& knobs) override { knobs.address_space = size_t{64} << 40; }
};

TEST_F(HugeSpace, TheArenaHasNoMorePagesThanNumbers) {
  EXPECT_LE(heap.arena.size() >> os::kPageShift, size_t{UINT32_MAX});
  EXPECT_GE(heap.arena.size(), size_t{1} << 40);
  std::vector<uint64_t*> kept = sparse(128, 4000, 16);
  void* large = allocate(size_t{20} << 20);
  ASSERT_NE(large, nullptr);
  static_cast<char*>(large)[(size_t{20} << 20) - 1] = 1;
  compact();
  expect_intact(kept, 128);
  deallocate(large);
  free_all(kept);
}

}  // namespace
}  // namespace freehold::mesh::testing
