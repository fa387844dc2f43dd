// Threads that come late: to a block that promotion has taken away, to a table that a remap drops, to a page whose way there is not walkable yet. And the
// kernel's own lateness: write protection that moves along with frames (before Linux 6.13).
#include <atomic>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include "heap/dedangling.h"
#include "heap/forwarding.h"
#include "heap/promotion.h"
#include "heap_fixture.h"
#include "os/watching.h"

namespace freehold::testing {
namespace {

using core::arena;
using core::BlockState;
using core::Object;
using heap::PromotionScope;

uintptr_t number(const Object* object) { return reinterpret_cast<uintptr_t>(object); }

class LateReadersTest : public HeapTest, public ::testing::WithParamInterface<core::Protection> {
 protected:
  void configure(core::Knobs& knobs) override {
    knobs.protection = GetParam();
    knobs.promotion = true;
  }

  void SetUp() override {
    HeapTest::SetUp();
    kept.clear();
    heap::set_remap_support(&kSupport);
  }

  static inline std::vector<Object*> kept;  // what the program holds: a remap makes it current
  static bool stop(void (*patch)(uint64_t*), void (*stopped)(void*), void* argument) {
    for (Object*& object : kept) {
      if (patch != nullptr) patch(reinterpret_cast<uint64_t*>(&object));
    }
    stopped(argument);
    return true;
  }
  static constexpr heap::RemapSupport kSupport = {stop, [](void (*)(uint8_t*, uint8_t*, void*), void*) {}, nullptr};

  // Blocks of nodes of which every `n`-th lives. Returns names of the dead ones.
  std::vector<Object*> sparse_blocks(size_t blocks, size_t n) {
    std::vector<Object*> all, dead;
    for (size_t bytes = 0; bytes < blocks * core::kBlockSize; bytes += 40) all.push_back(allocate(&node_type.table));
    for (size_t i = 0; i < all.size(); i++) {
      if (i % n == 0) {
        kept.push_back(all[i]);
      } else {
        heap::delete_object(all[i]);
        if (i % 1000 == 1) dead.push_back(all[i]);
      }
    }
    return dead;
  }

  static size_t a_forwarded_block() {
    for (size_t block = 0; block < heap::lower_frontier(); block++) {
      if (arena.blocks[block].state.load() == BlockState::kForwarded) return block;
    }
    return heap::kNoBlock;
  }
};

TEST_P(LateReadersTest, PagesFoundDeadBehindPromotionAreNotCounted) {
  sparse_blocks(4, 4);
  ASSERT_GT(heap::promote(PromotionScope::kSparse), 0u);
  size_t block = a_forwarded_block();
  ASSERT_NE(block, heap::kNoBlock);
  uint64_t before = heap::dead_pages();
  for (size_t page = 0; page < core::kPagesPerBlock; page++) heap::mark_page_dead(block * core::kPagesPerBlock + page);
  EXPECT_EQ(heap::dead_pages(), before);
  std::thread([&] {  // that has no figures of its own
    size_t other = block;
    while (++other < heap::lower_frontier() && arena.blocks[other].state.load() != BlockState::kForwarded) continue;
    for (size_t page = 0; page < core::kPagesPerBlock; page++) heap::mark_page_dead(other * core::kPagesPerBlock + page);
  })
      .join();
  EXPECT_EQ(heap::dead_pages(), before);
  EXPECT_TRUE(heap::dedangle());
  expect_valid("after a remap");
  EXPECT_EQ(heap::dead_pages(), before);
}

// The link of a list is no table, nor is the table of another block: who asks for a dead name beside a remap is told that it is dead.
TEST_P(LateReadersTest, DeadNamesStayDeadWhileTheirTablesGo) {
  constexpr int kRounds = 150;
  std::atomic<uint64_t> asked{0};  // the name that the readers ask for
  std::atomic<bool> end{false};
  std::atomic<uint64_t> wrong{0}, answers{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 2; i++) {
    readers.emplace_back([&] {
      while (!end) {
        uint64_t name = asked.load();
        if (name == 0) continue;
        if (heap::current_address(name) != name || heap::whereabouts_of(name) == heap::Whereabouts::kMoved) wrong++;
        answers++;
      }
    });
  }
  for (int round = 0; round < kRounds; round++) {
    std::vector<Object*> dead = sparse_blocks(2, 50);
    heap::promote(PromotionScope::kAll);
    asked = number(dead[dead.size() / 4]);
    for (uint64_t seen = answers; answers < seen + 3;) std::this_thread::yield();
    heap::dedangle();
    for (Object*& object : kept) {
      if (heap::delete_object(object) != heap::DeleteResult::kDeleted) wrong++;
    }
    kept.clear();
  }
  end = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(wrong.load(), 0u);
}

// A thread has room for a pinned object and has not made it yet, while others fill the same chunk, delete, and pages behind lose their memory.
TEST_P(LateReadersTest, PagesBehindAnUnfinishedPinnedObjectAreFoundLater) {
  constexpr uint32_t kLength = 9'000;
  constexpr size_t kSize = (kLength + 24 + 7) / 8 * 8;
  std::vector<Object*> others;
  for (int i = 0; i < 3; i++) others.push_back(allocate_with(&context_, &bytes_type.table, kLength, heap::kAllocPinned));
  auto* unfinished = static_cast<Object*>(heap::allocate(&context_, kSize, heap::kAllocPinned));
  for (int i = 0; i < 40; i++) others.push_back(allocate_with(&context_, &bytes_type.table, kLength, heap::kAllocPinned));
  Object* last = allocate_with(&context_, &bytes_type.table, kLength, heap::kAllocPinned);
  size_t block = arena.block_index(number(unfinished));
  for (Object* object : others) ASSERT_EQ(heap::delete_object(object), heap::DeleteResult::kDeleted);
  heap::collect();
  heap::release_dead_pages(block, 1);
  unfinished->type = &bytes_type.table;
  unfinished->length = kLength;
  expect_valid("with pages without memory behind it");
  ASSERT_EQ(heap::delete_object(unfinished), heap::DeleteResult::kDeleted);
  heap::collect();
  expect_valid("after it was made and deleted");
  // All but what the last object, and the ends, touch.
  size_t first = number(others[0]) / core::kPageSize + 1, end = number(last) / core::kPageSize;
  for (size_t page = first; page < end; page++) EXPECT_TRUE(core::is_page_dead(page - arena.start / core::kPageSize)) << page - first;
  EXPECT_EQ(heap::delete_object(last), heap::DeleteResult::kDeleted);
}

INSTANTIATE_TEST_SUITE_P(, LateReadersTest, ::testing::Values(core::Protection::kUserfaultfd, core::Protection::kMprotect),
                         [](const auto& info) { return info.param == core::Protection::kUserfaultfd ? "Userfaultfd" : "Mprotect"; });

// Whether the kernel takes protection along or not (the probe is made to say so): what comes out of the pool can be written, also when it is watched, and
// after a fork.
class MovingProtectionTest : public HeapTest, public ::testing::WithParamInterface<bool> {
 protected:
  void configure(core::Knobs& knobs) override {
    knobs.protection = core::Protection::kUserfaultfd;
    knobs.promotion = true;
    if (GetParam()) {
      ASSERT_TRUE(os::inject_failures("probe:1"));
    }
  }

  void TearDown() override {
    os::inject_failures("probe:18446744073709551615");
    HeapTest::TearDown();
  }
};

TEST_P(MovingProtectionTest, PooledFramesOfPromotedBlocksCanBeWritten) {
  if (GetParam()) {
    EXPECT_TRUE(os::moves_keep_protection());
  }
  std::vector<Object*> all;
  for (size_t bytes = 0; bytes < 6 * core::kBlockSize; bytes += 40) all.push_back(allocate(&node_type.table));
  for (size_t i = 0; i < all.size(); i++) {
    if (i % 8 != 0) heap::delete_object(all[i]);
  }
  ASSERT_GT(heap::promote(PromotionScope::kSparse), 0u);
  ASSERT_GT(heap::block_counters.pooled.load(), 2u);
  for (bool forked : {false, true}) {
    size_t block = heap::acquire_block(core::BlockKind::kSmall);
    ASSERT_NE(block, heap::kNoBlock);
    ASSERT_TRUE(arena.blocks[block].dirty);
    uint8_t* start = arena.block_start(block);
    if (forked) {
      pid_t child = fork();
      if (child == 0) _exit(0);
      waitpid(child, nullptr, 0);
    }
    // As release_pages() does when pages of it are dead.
    ASSERT_TRUE(os::watch(start, core::kBlockSize));
    // By the kernel, which answers where a thread would fault.
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    for (size_t page = 0; page < core::kPagesPerBlock; page++) {
      ASSERT_EQ(write(ends[1], "x", 1), 1);
      ASSERT_EQ(read(ends[0], start + page * core::kPageSize, 1), 1) << "page " << page << ", forked " << forked;
    }
    close(ends[0]);
    close(ends[1]);
  }
}

INSTANTIATE_TEST_SUITE_P(, MovingProtectionTest, ::testing::Bool(), [](const auto& info) { return info.param ? "AsIfItMoved" : "AsTheKernelHasIt"; });

}  // namespace
}  // namespace freehold::testing
