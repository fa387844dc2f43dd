#include "mesh_fixture.h"

namespace freehold::mesh::testing {
namespace {

class AlignmentTest : public MeshTest {};

TEST_F(AlignmentTest, EverySizeAtEveryAlignment) {
  std::vector<void*> all;
  for (size_t alignment = 1; alignment <= size_t{8} << 20; alignment *= 2) {
    for (size_t size : {0, 1, 8, 24, 48, 100, 500, 2000, 4096, 9000, 40'000}) {
      for (int i = 0; i < 3; i++) {
        void* object = allocate_aligned(size, alignment);
        ASSERT_NE(object, nullptr) << size << " at " << alignment;
        EXPECT_EQ(reinterpret_cast<uintptr_t>(object) % std::max<size_t>(alignment, 16), 0u) << size << " at " << alignment;
        memset(object, 1, size);
        EXPECT_GE(usable_size(object), size);
        all.push_back(object);
      }
    }
  }
  for (void* object : all) deallocate(object);
}

// All sizes up to a page, as many objects as fill several spans: not only the first slot is aligned.
TEST_F(AlignmentTest, EverySizeUpToAPage) {
  for (size_t alignment = 2; alignment <= 4096; alignment *= 2) {
    for (size_t size = 0; size <= 4096; size += 4) {
      void* objects[24];
      for (void*& object : objects) {
        object = allocate_aligned(size, alignment);
        ASSERT_EQ(reinterpret_cast<uintptr_t>(object) % alignment, 0u) << size << " at " << alignment;
      }
      for (void* object : objects) deallocate(object);
    }
  }
}

// The kernel's direct I/O writes to frames: its buffers are aligned to 512 bytes at least.
TEST_F(AlignmentTest, BuffersForDirectInputNeverMesh) {
  for (size_t alignment : {512, 1024, 2048, 4096}) {
    void* object = allocate_aligned(512, alignment);
    EXPECT_GE(reinterpret_cast<uintptr_t>(object) - heap.arena.start(), heap.arena.meshable_size());
    deallocate(object);
  }
}

}  // namespace
}  // namespace freehold::mesh::testing
