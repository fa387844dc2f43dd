// What programs of a known shape take: no more than they have, and what was fragmented comes back.
#include <sys/mman.h>

#include "mesh_fixture.h"

namespace freehold::mesh::testing {
namespace {

class FootprintTest : public MeshTest {
 protected:
  static uint64_t held() { return heap.arena.held_bytes(); }
};

// Twice as many objects of twice the size, again and again, of which each second one stays: without meshing the half that was freed is lost to each larger size.
TEST_F(FootprintTest, EachSecondObjectOfGrowingSizes) {
  if (heap.barrier.kind() == BarrierKind::kNone) GTEST_SKIP() << "nothing meshes here";
  constexpr size_t kTotal = size_t{32} << 20;
  std::vector<void*> kept;
  size_t live = 0;
  for (size_t size = 512; size <= 16'384; size *= 2) {
    size_t pairs = (kTotal - live) / (2 * size);
    std::vector<void*> freed;
    for (size_t i = 0; i < pairs; i++) {
      kept.push_back(memset(allocate(size), 1, size));
      freed.push_back(memset(allocate(size), 2, size));
    }
    live += pairs * size;
    for (void* object : freed) deallocate(object);
  }
  uint64_t before = heap.arena.used_pages() << os::kPageShift;
  compact();
  // Half of the slots are free, at random: of eight slots few pairs mesh; the pages of free slots above 3,584 bytes go back all the same.
  EXPECT_LT(heap.arena.used_pages() << os::kPageShift, before);
  EXPECT_EQ(heap.arena.dirty_pages(), 0u);
  for (void* object : kept) deallocate(object);
  compact();
  EXPECT_EQ(held(), 0u);
}

// One object that is freed and allocated again takes one slot.
TEST_F(FootprintTest, OneObjectAtATimeTakesOneSpan) {
  for (int i = 0; i < 1'000'000; i++) deallocate(allocate(61));
  EXPECT_EQ(heap.arena.used_pages(), 1u);
}

// Just above the small sizes, forty at a time.
TEST_F(FootprintTest, ObjectsJustAboveTheSmallSizes) {
  constexpr size_t kSize = 32'816, kLive = 40;
  void* objects[kLive] = {};
  uint64_t most = 0;
  for (size_t i = 0; i < 100'000; i++) {
    void* object = memset(allocate(kSize), 0x55, 64);
    deallocate(objects[i % kLive]);
    objects[i % kLive] = object;
    most = std::max(most, held());
  }
  for (void* object : objects) deallocate(object);
  EXPECT_LE(most, 2 * (kLive + 1) * (kSize + 4096));
}

// Of about the same size, in random order: what was freed is used again. A run that waits is at most as long as it was.
TEST_F(FootprintTest, LargeObjectsOfAboutTheSameSize) {
  constexpr size_t kLive = 128, kLeast = 800'000, kMost = 900'000;
  std::mt19937 random(3);
  void* objects[kLive] = {};
  uint64_t most = 0;
  for (int i = 0; i < 20'000; i++) {
    void*& object = objects[random() % kLive];
    deallocate(object);
    object = allocate(kLeast + random() % (kMost - kLeast));
    most = std::max(most, held());
  }
  for (void* object : objects) deallocate(object);
  EXPECT_LE(most, 2 * kLive * kMost);
}

// A large object's memory goes back when it is freed and nothing may wait for its next use.
TEST_F(FootprintTest, TheMemoryOfALargeObjectComesAndGoes) {
  constexpr size_t kSize = size_t{1} << 20;
  auto resident = [](void* object) {
    unsigned char pages[kSize / 4096] = {};
    EXPECT_EQ(mincore(object, kSize, pages), 0);
    return std::count_if(std::begin(pages), std::end(pages), [](unsigned char page) { return (page & 1) != 0; });
  };
  void* object = allocate(kSize);
  EXPECT_EQ(resident(object), 0);
  memset(object, 0xff, kSize);
  EXPECT_EQ(resident(object), kSize / 4096);
  deallocate(object);
  purge();
  EXPECT_EQ(resident(object), 0);
}

}  // namespace
}  // namespace freehold::mesh::testing
