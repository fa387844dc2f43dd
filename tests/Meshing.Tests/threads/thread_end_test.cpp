// Threads that begin and end: their heaps go to the next ones, and what they kept to its spans, however many end at once.
#include <atomic>
#include <thread>

#include "mesh_fixture.h"

namespace freehold::mesh::testing {
namespace {

class ThreadEndTest : public MeshTest {
 protected:
  // Each allocates and frees, waits for all others, and ends with them. Its heap is given back by the destructor of the thread's key.
  static void end_at_once(size_t count, int objects) {
    std::atomic<size_t> ready{0};
    std::vector<std::thread> threads;
    for (size_t i = 0; i < count; i++) {
      threads.emplace_back([&, i] {
        std::vector<void*> all;
        for (int k = 0; k < objects; k++) all.push_back(memset(allocate(32 + i % 8 * 16), 0x42, 32));
        for (void* object : all) deallocate(object);
        ready++;
        while (ready < count) std::this_thread::yield();
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  void TearDown() override {
    EXPECT_STREQ(verify() == nullptr ? "" : verify(), "");
    compact();
    EXPECT_EQ(heap.arena.used_pages(), 0u);
    MeshTest::TearDown();
  }
};

TEST_F(ThreadEndTest, ManyAtOnce) {
  for (int round = 0; round < 40; round++) end_at_once(64, 1);
  EXPECT_LE(heap.global.heap_count(), 65u);
}

TEST_F(ThreadEndTest, OneGenerationAfterTheOther) {
  for (int cycle = 0; cycle < 50; cycle++) end_at_once(32, 10);
  EXPECT_LE(heap.global.heap_count(), 33u);
}

TEST_F(ThreadEndTest, AnyNumberOfThem) {
  for (size_t count = 2; count <= 128; count *= 2) {
    for (int round = 0; round < 4; round++) end_at_once(count, 3);
  }
  EXPECT_LE(heap.global.heap_count(), 129u);
}

TEST_F(ThreadEndTest, GenerationsBesideOneAnother) {
  std::vector<std::thread> sources;
  for (int i = 0; i < 4; i++) {
    sources.emplace_back([] {
      for (int batch = 0; batch < 15; batch++) end_at_once(16, 2);
    });
  }
  for (std::thread& source : sources) source.join();
  EXPECT_LE(heap.global.heap_count(), 4u * 17 + 1);
}

}  // namespace
}  // namespace freehold::mesh::testing
