// Parent and child share nothing after a fork, whatever was meshed before it.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "mesh_fixture.h"

namespace freehold::mesh::testing {
namespace {

class ForkTest : public MeshTest {
 protected:
  // As pthread_atfork calls them. In the child `work` must be true.
  static void in_child(auto work) {
    before_fork();
    pid_t child = fork();
    if (child == 0) {
      after_fork_in_child();
      _exit(work() ? 0 : 1);
    }
    after_fork_in_parent();
    ASSERT_GT(child, 0);
    children().push_back(child);
  }
  static std::vector<pid_t>& children() {
    static std::vector<pid_t> all;
    return all;
  }
  static void join() {
    for (pid_t child : children()) {
      int status = -1;
      ASSERT_EQ(waitpid(child, &status, 0), child);
      EXPECT_EQ(status, 0) << "what the child saw, or how it ended";
    }
    children().clear();
  }
  static bool is_intact(const std::vector<uint64_t*>& kept, size_t words, uint64_t first) {
    for (size_t i = 0; i < kept.size(); i++) {
      for (size_t w = 0; w < words; w++) {
        if (kept[i][w] != first + i) return false;
      }
    }
    return true;
  }
  static void fill(const std::vector<uint64_t*>& kept, size_t words, uint64_t first) {
    for (size_t i = 0; i < kept.size(); i++) {
      for (size_t w = 0; w < words; w++) kept[i][w] = first + i;
    }
  }
};

TEST_F(ForkTest, NeitherSeesWhatTheOtherWrites) {
  std::vector<uint64_t*> kept = sparse(256, 30'000, 20);
  compact();
  ASSERT_GT(heap.global.saved_pages.load(), 0);
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  in_child([&] {
    char byte;
    if (read(ready[0], &byte, 1) != 1) return false;  // the parent has written everywhere
    if (!is_intact(kept, 32, 1)) return false;
    fill(kept, 32, 7'000'000);
    return is_intact(kept, 32, 7'000'000);
  });
  fill(kept, 32, 5'000'000);
  ASSERT_EQ(write(ready[1], "x", 1), 1);
  join();
  expect_intact(kept, 256, 5'000'000);
  close(ready[0]);
  close(ready[1]);
  free_all(kept);
}

TEST_F(ForkTest, BothGoOnAllocatingFreeingAndMeshing) {
  std::vector<uint64_t*> kept = sparse(256, 20'000, 20);
  compact();
  for (int generation = 0; generation < 3; generation++) {
    auto go_on = [&](uint64_t first) {
      // Of a class without spans from before the fork: those are never meshed again.
      size_t size = 512 + 256 * static_cast<size_t>(generation);
      std::vector<uint64_t*> more = sparse(size, 20'000, 20, first);
      uint64_t meshes = heap.mesher.figures().meshes.load();
      compact();
      bool good = heap.mesher.figures().meshes.load() > meshes && is_intact(more, size / 8, first) && is_intact(kept, 32, 1) && verify() == nullptr;
      free_all(more);
      return good;
    };
    in_child([&] {
      bool good = go_on(3'000'000);
      free_all(kept);
      compact();
      return good && heap.arena.used_pages() == 0;
    });
    EXPECT_TRUE(go_on(4'000'000));
    join();
  }
  free_all(kept);
}

// Where the spans can not become copies on write, the child copies them before the parent goes on.
TEST_F(ForkTest, WithoutTheFilesDescriptor) {
  std::vector<uint64_t*> kept = sparse(256, 20'000, 20);
  compact();
  ASSERT_GT(heap.global.saved_pages.load(), 0);
  close(heap.arena.file());
  // Also the second time: what could not be mapped anew is shared with the file still.
  uint64_t there = 1;
  for (uint64_t round : {1, 2}) {
    int ready[2];
    ASSERT_EQ(pipe(ready), 0);
    in_child([&] {
      char byte;
      if (read(ready[0], &byte, 1) != 1 || !is_intact(kept, 32, there)) return false;
      fill(kept, 32, 7'000'000 + round);
      return is_intact(kept, 32, 7'000'000 + round);
    });
    fill(kept, 32, 5'000'000 + round);
    ASSERT_EQ(write(ready[1], "x", 1), 1);
    join();
    there = 5'000'000 + round;
    expect_intact(kept, 256, there);
    close(ready[0]);
    close(ready[1]);
  }
  free_all(kept);
}

TEST_F(ForkTest, AChildOfAChild) {
  std::vector<uint64_t*> kept = sparse(128, 10'000, 10);
  compact();
  in_child([&] {
    std::vector<uint64_t*> own = sparse(128, 10'000, 10, 900);
    compact();
    before_fork();
    pid_t child = fork();
    if (child == 0) {
      after_fork_in_child();
      bool good = is_intact(kept, 16, 1) && is_intact(own, 16, 900);
      fill(own, 16, 1);
      _exit(good ? 0 : 1);
    }
    after_fork_in_parent();
    fill(own, 16, 2000);
    int status = -1;
    waitpid(child, &status, 0);
    return status == 0 && is_intact(own, 16, 2000) && is_intact(kept, 16, 1);
  });
  join();
  expect_intact(kept, 128);
  free_all(kept);
}

// Other threads allocate, free, write and mesh while this one forks.
TEST_F(ForkTest, UnderLoad) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; t++) {
    threads.emplace_back([&, t] {
      while (!stop.load()) {
        std::vector<uint64_t*> kept = sparse(static_cast<size_t>(64 + 64 * t), 2000, 15);
        heap.mesher.run(0, true);
        expect_intact(kept, static_cast<size_t>(64 + 64 * t));
        free_all(kept);
      }
      leave_heap();
    });
  }
  std::vector<uint64_t*> kept = sparse(256, 5000, 10);
  for (int i = 0; i < 30; i++) {
    in_child([&] {
      std::vector<uint64_t*> own = sparse(192, 2000, 15);
      compact();
      return is_intact(own, 24, 1) && is_intact(kept, 32, 1);
    });
    join();
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  expect_intact(kept, 256);
  free_all(kept);
}

}  // namespace
}  // namespace freehold::mesh::testing
