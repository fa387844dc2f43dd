#include "statistics.h"

#include <errno.h>

#include <atomic>
#include <thread>

#include "freehold/mesh.h"
#include "mesh_fixture.h"

namespace freehold::mesh::testing {
namespace {

class StatisticsTest : public MeshTest {};

TEST_F(StatisticsTest, TheFiguresAddUp) {
  std::vector<uint64_t*> kept = sparse(256, 20'000, 20);
  void* large = allocate(1'000'000);
  compact();
  Statistics s = read_statistics();
  EXPECT_EQ(s.live_bytes, kept.size() * 256 + usable_size(large));
  EXPECT_EQ(s.large_bytes, usable_size(large));
  EXPECT_GT(s.saved_bytes, 0u);
  EXPECT_EQ(s.saved_bytes, static_cast<uint64_t>(heap.global.saved_pages.load()) * 4096);
  EXPECT_EQ(s.used_bytes, heap.arena.used_pages() * 4096);
  uint64_t figures[FREEHOLD_MESH_FIGURE_COUNT + 1];
  figures[FREEHOLD_MESH_FIGURE_COUNT] = 7;
  freehold_mesh_figures(figures, FREEHOLD_MESH_FIGURE_COUNT);
  EXPECT_EQ(figures[0], s.used_bytes);
  EXPECT_EQ(figures[1], s.dirty_bytes);
  EXPECT_EQ(figures[2], s.large_bytes);
  EXPECT_EQ(figures[3], s.saved_bytes);
  EXPECT_EQ(figures[4], s.meshes);
  EXPECT_GT(figures[6], 0u);
  EXPECT_EQ(figures[7], static_cast<uint64_t>(heap.mesher.budget()));
  EXPECT_EQ(figures[FREEHOLD_MESH_FIGURE_COUNT], 7u);
  // A meshed page counts once in PSS and for each of its addresses in RSS.
  EXPECT_GT(s.proportional_bytes, 0u);
  for (uint64_t* object : kept) *object = *object + 1;
  Statistics touched = read_statistics();
  EXPECT_GE(touched.resident_bytes, touched.proportional_bytes + touched.saved_bytes / 2);
  deallocate(large);
  free_all(kept);
}

TEST_F(StatisticsTest, JsonThatFitsOrSaysWhatItNeeds) {
  void* object = allocate(100);
  char text[16'384], cut[20];
  size_t needed = write_statistics(text, sizeof text);
  ASSERT_LT(needed, sizeof text);
  EXPECT_EQ(strlen(text), needed);
  EXPECT_EQ(text[0], '{');
  EXPECT_EQ(text[needed - 1], '}');
  for (const char* name : {"live_bytes", "saved_bytes", "proportional_bytes", "barrier", "other_allocator", "classes", "budget", "turns"}) {
    EXPECT_NE(strstr(text, ("\"" + std::string(name) + "\":").c_str()), nullptr) << name;
  }
  EXPECT_GT(write_statistics(cut, sizeof cut), sizeof cut);
  EXPECT_EQ(strlen(cut), sizeof cut - 1);
  deallocate(object);
}

TEST_F(StatisticsTest, ReadWhileOthersAllocate) {
  std::atomic<bool> stop{false};
  std::thread worker([&] {
    while (!stop.load()) free_all(sparse(128, 2000, 10));
    leave_heap();
  });
  char text[16'384];
  for (int i = 0; i < 50; i++) EXPECT_GT(write_statistics(text, sizeof text), 100u);
  stop = true;
  worker.join();
}

TEST_F(StatisticsTest, ValuesByName) {
  uint64_t value = 0, seven = 7, none = 0;
  EXPECT_EQ(freehold_mesh_ctl("mesh.period", &value, &seven), 0);
  EXPECT_EQ(value, 1'000'000u);
  EXPECT_EQ(knobs.period, 7u);
  EXPECT_EQ(freehold_mesh_ctl("mesh.period", nullptr, &none), EINVAL);
  EXPECT_EQ(freehold_mesh_ctl("statistics.meshes", nullptr, &seven), EPERM);
  EXPECT_EQ(freehold_mesh_ctl("nothing", &value, nullptr), ENOENT);
  EXPECT_EQ(freehold_mesh_ctl("statistics.used_bytes", &value, nullptr), 0);
}

}  // namespace
}  // namespace freehold::mesh::testing
