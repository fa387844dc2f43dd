// The verifier finds nothing in a heap that is in order, whatever its threads are doing.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "mesh_fixture.h"

namespace freehold::mesh::testing {
namespace {

class VerificationTest : public MeshTest {};

TEST_F(VerificationTest, WhileThreadsAllocateFreeAndMesh) {
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> rounds{0};
  std::atomic<uint64_t*> letters[64] = {};
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 3; t++) {
    threads.emplace_back([&, t] {
      std::mt19937_64 random(t);
      while (!stop.load()) {
        std::vector<uint64_t*> kept = sparse(64 + 64 * (random() % 20), 1500, 15);
        heap.mesher.run(0, true);
        for (uint64_t*& object : kept) object = letters[random() % 64].exchange(object);
        for (uint64_t* object : kept) deallocate(object);
        for (int i = 0; i < 20; i++) deallocate(reallocate(allocate(5000 + random() % 200'000), 1 + random() % 300'000));
        if (random() % 4 == 0) purge();
        rounds++;
      }
      leave_heap();
    });
  }
  for (int i = 0; i < 300 || rounds < 12; i++) {
    const char* found = verify();
    EXPECT_STREQ(found == nullptr ? "" : found, "");
    if (found != nullptr) break;
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  for (auto& letter : letters) deallocate(letter.load());
}

// The sums hold in both processes, also for spans from before the fork.
TEST_F(VerificationTest, InParentAndChild) {
  std::vector<uint64_t*> kept = sparse(256, 16'000, 20);
  compact();
  for (int generation = 0; generation < 2; generation++) {
    before_fork();
    pid_t child = fork();
    if (child == 0) {
      after_fork_in_child();
      bool good = verify() == nullptr;
      for (size_t i = 0; i < kept.size(); i += 2) deallocate(kept[i]);
      good = good && verify() == nullptr;
      std::vector<uint64_t*> more = sparse(512, 8000, 20);
      compact();
      good = good && verify() == nullptr;
      _exit(good ? 0 : 1);
    }
    after_fork_in_parent();
    EXPECT_EQ(verify(), nullptr);
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  free_all(kept);
  compact();
  EXPECT_EQ(verify(), nullptr);
}

// Addresses that the kernel gives no pages of their own again are counted as lost.
TEST_F(VerificationTest, AfterAddressesWereLost) {
  std::vector<uint64_t*> kept = sparse(256, 16'000, 20);
  compact();
  if (heap.global.saved_pages == 0) GTEST_SKIP() << "nothing meshes here";
  os::inject_failures("mremap:1+");
  free_all(kept);
  compact();
  os::inject_failures("");
  EXPECT_STREQ(verify() == nullptr ? "" : verify(), "");
}

// The last page of all has no neighbour that could be a span.
class LastSpanTest : public MeshTest {
  void configure(Knobs& k) override { k.address_space = size_t{192} << 20; }
};

TEST_F(LastSpanTest, TheLastSpanOfTheArenaMeshes) {
  uint32_t end = static_cast<uint32_t>(heap.arena.meshable_size() >> os::kPageShift);
  std::vector<uint64_t*> all, kept;
  const ShuffleVector* vector = nullptr;  // of the last spans too all slots
  while (heap.arena.fresh_page() < end || !vector->is_empty()) {
    all.push_back(static_cast<uint64_t*>(allocate(256)));
    vector = &thread_heap->vectors[class_of(256)];
  }
  for (size_t i = 0; i < all.size(); i++) {
    if (i % 16 == 5) kept.push_back(all[i]);
    else deallocate(all[i]);
  }
  compact();
  if (heap.barrier.kind() != BarrierKind::kNone) {
    EXPECT_EQ(heap.global[heap.arena.word(end - 1).index()].bin, MiniHeap::kMember);
  }
  EXPECT_STREQ(verify() == nullptr ? "" : verify(), "");
  free_all(kept);
  compact();
  EXPECT_STREQ(verify() == nullptr ? "" : verify(), "");
  EXPECT_EQ(heap.arena.used_pages(), 0u);
}

// Nothing is open: there is nothing to find.
TEST(Verification, BeforeTheHeapIsOpen) { EXPECT_EQ(verify(), nullptr); }

}  // namespace
}  // namespace freehold::mesh::testing
