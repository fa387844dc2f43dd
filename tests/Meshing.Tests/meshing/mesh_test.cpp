// What meshing does to objects (nothing) and to memory.
#include <cstdio>

#include "mesh_fixture.h"

namespace freehold::mesh::testing {
namespace {

class MeshingTest : public MeshTest {};

TEST_F(MeshingTest, ObjectsStayWhereTheyAreAndMemoryGoes) {
  std::vector<uint64_t*> kept = sparse(256, 40'000, 20);
  uint64_t before = heap.arena.used_pages();
  compact();
  uint64_t after = heap.arena.used_pages();
  EXPECT_LT(after * 2, before) << "pages";
  EXPECT_GT(heap.mesher.figures().meshes.load(), 100u);
  expect_intact(kept, 256);
  for (size_t i = 0; i < kept.size(); i++) {
    for (size_t w = 0; w < 32; w++) kept[i][w] = 1'000'000 + i;
  }
  expect_intact(kept, 256, 1'000'000);
  free_all(kept);
}

TEST_F(MeshingTest, EveryMeshableClass) {
  for (uint32_t c = 1; c < kClasses && is_meshable(c); c++) {
    size_t size = kSizeClasses[c].size;
    std::vector<uint64_t*> kept = sparse(size, kSizeClasses[c].slots * 300, 31);
    uint64_t meshes = heap.mesher.figures().meshes.load();
    compact();
    EXPECT_GT(heap.mesher.figures().meshes.load(), meshes) << size;
    expect_intact(kept, size);
    ASSERT_EQ(verify(), nullptr) << verify();
    free_all(kept);
  }
}

// More than two spans share pages; what is allocated in them afterwards disturbs none.
TEST_F(MeshingTest, MeshedSpansMeshAgainAndAreAllocatedFrom) {
  std::vector<uint64_t*> kept = sparse(256, 16'000, 40);
  compact();
  uint32_t most = 0;
  for (MiniHeapId id = 1; id < heap.global.mini_heap_end(); id++) most = std::max<uint32_t>(most, heap.global[id].members);
  EXPECT_GE(most, 2u);
  std::vector<uint64_t*> more;
  for (int i = 0; i < 20'000; i++) {
    more.push_back(static_cast<uint64_t*>(allocate(256)));
    for (int w = 0; w < 32; w++) more.back()[w] = 500'000 + static_cast<uint64_t>(i);
  }
  expect_intact(kept, 256);
  expect_intact(more, 256, 500'000);
  free_all(more);
  expect_intact(kept, 256);
  free_all(kept);
}

TEST_F(MeshingTest, SpansComeApartWhenTheirObjectsGo) {
  std::vector<uint64_t*> kept = sparse(128, 30'000, 25);
  compact();
  EXPECT_GT(heap.global.saved_pages.load(), 0);
  free_all(kept);
  compact();
  EXPECT_EQ(heap.global.saved_pages.load(), 0);
  EXPECT_EQ(heap.arena.used_pages(), 0u);
  EXPECT_EQ(heap.arena.dirty_pages(), 0u);
  // And their addresses are good for other classes.
  std::vector<uint64_t*> again = sparse(48, 30'000, 1);
  expect_intact(again, 48);
  free_all(again);
}

TEST_F(MeshingTest, AFullHeapDoesNotMesh) {
  std::vector<uint64_t*> kept = sparse(256, 10'000, 1);
  compact();
  EXPECT_LE(heap.mesher.figures().meshes.load(), 1u);
  free_all(kept);
}

// Lines of /proc/self/maps for what was used of the spans.
int64_t mappings_of_spans() {
  FILE* maps = fopen("/proc/self/maps", "r");
  int64_t count = 0;
  char line[512];
  while (fgets(line, sizeof line, maps) != nullptr) {
    uintptr_t start = 0, end = 0;
    sscanf(line, "%lx-%lx", &start, &end);
    count += start >= heap.arena.start() && start < heap.arena.start() + heap.arena.fresh_page() * os::kPageSize;
  }
  fclose(maps);
  return count;
}

class MapBudgetTest : public MeshTest {
  void configure(Knobs& k) override { k.map_budget = 100; }
};

TEST_F(MapBudgetTest, MeshingStopsAtItsBudgetOfMappings) {
  std::vector<uint64_t*> kept = sparse(256, 60'000, 20);
  compact();
  EXPECT_LE(heap.arena.mappings(), 100);
  EXPECT_GE(heap.arena.mappings(), 95);
  EXPECT_EQ(heap.arena.mappings(), mappings_of_spans()) << "what the kernel says";
  expect_intact(kept, 256);
  free_all(kept);
}

class NoMeshingTest : public MeshTest {
  void configure(Knobs& k) override { k.meshing = false; }
};

TEST_F(NoMeshingTest, SwitchedOffItIsAnOrdinaryMalloc) {
  std::vector<uint64_t*> kept = sparse(256, 10'000, 20);
  compact();
  EXPECT_EQ(heap.mesher.figures().meshes.load(), 0u);
  expect_intact(kept, 256);
  free_all(kept);
}

}  // namespace
}  // namespace freehold::mesh::testing
