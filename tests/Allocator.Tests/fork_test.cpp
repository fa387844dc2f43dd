// The child of a fork: it has one thread, and neither userfaultfd nor the threads of the heap.
#include "heap/fork.h"

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "heap/addresses.h"
#include "heap/block_lists.h"
#include "heap/block_pool.h"
#include "heap/block_protection.h"
#include "heap/dedangling.h"
#include "heap/forwarding.h"
#include "heap/maintenance_signals.h"
#include "heap/mappings.h"
#include "heap/phases.h"
#include "heap/prefault.h"
#include "heap/prefault_policy.h"
#include "heap/promotion.h"
#include "heap/scopes.h"
#include "heap/thread_heap.h"
#include "heap_fixture.h"

namespace freehold::testing {
namespace {

using core::Object;
using heap::DeleteResult;

class ForkedHeapTest : public HeapTest, public ::testing::WithParamInterface<core::Protection> {
 protected:
  void configure(core::Knobs& knobs) override {
    knobs.protection = GetParam();
    knobs.promotion = true;
  }

  // As runtime/fork.cpp forks. True if all is well in the child, which ends by exit(): tools that count look at it then.
  template <typename Body>
  static bool is_well_in_child(Body body, heap::ChildOfFork kind = heap::ChildOfFork::kGoesOn) {
    pid_t child;
    {
      heap::PromotionPause promotion;
      heap::MaintenancePause maintenance;
      heap::take_locks_for_fork();
      child = fork();
      if (child == 0) {
        heap::keep_pauses_in_child();
        heap::go_on_in_child(kind);
      }
      heap::give_back_locks_of_fork();
    }
    if (child == 0) {
      body();
      exit(HasFailure() ? 1 : 0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }

  static bool is_readable(const void* address) {
    uint64_t value;
    return core::try_load(static_cast<const uint64_t*>(address), &value);
  }
};

// Blocks whose objects have moved, blocks that are dead, and pages of a live block that are: none of it can be read in the child, whatever kept it from being read before.
TEST_P(ForkedHeapTest, WhatIsDeadStaysDead) {
  std::vector<Object*> all, kept;
  for (size_t bytes = 0; bytes < 6 * core::kBlockSize; bytes += 40) all.push_back(allocate(&node_type.table));
  size_t promoted = all.size() / 2;
  for (size_t i = 0; i < promoted; i++) {
    if (i % 8 == 0) kept.push_back(all[i]);
    else ASSERT_EQ(heap::delete_object(all[i]), DeleteResult::kDeleted);
  }
  ASSERT_GT(heap::promote(heap::PromotionScope::kSparse), 0u);
  // Of the second half: runs of dead pages between live objects.
  std::vector<Object*> dead;
  for (size_t i = promoted; i < all.size(); i++) {
    if (i % 20'000 < 100) kept.push_back(all[i]);
    else dead.push_back(all[i]);
  }
  for (Object* object : dead) ASSERT_EQ(heap::delete_object(object), DeleteResult::kDeleted);
  core::knobs.promotion = false;
  heap::collect();
  std::vector<Object*> gone, moved;
  for (Object* object : dead) {
    if (!is_readable(object)) gone.push_back(object);
  }
  for (Object* object : kept) {
    auto name = reinterpret_cast<uintptr_t>(object);
    if (heap::current_address(name) != name) moved.push_back(object);
    reinterpret_cast<uint64_t*>(heap::current_address(name))[1] = 7 * name;
  }
  ASSERT_GT(gone.size(), dead.size() / 2);
  ASSERT_GT(moved.size(), 1000u);
  EXPECT_TRUE(is_well_in_child([&] {
    heap::start_at_next_wake(nullptr);  // the verifier is to find nobody at work
    for (Object* object : gone) ASSERT_FALSE(is_readable(object)) << object;
    for (Object* object : moved) ASSERT_FALSE(is_readable(object)) << object;
    for (Object* object : kept) {
      auto name = reinterpret_cast<uintptr_t>(object);
      ASSERT_EQ(reinterpret_cast<uint64_t*>(heap::current_address(name))[1], 7 * name);
    }
    expect_valid("in the child");
    // And the heap goes on, with what protects it there.
    for (size_t i = 0; i < 60'000; i++) ASSERT_EQ(heap::delete_object(allocate(&node_type.table)), DeleteResult::kDeleted);
    for (Object* object : kept) ASSERT_EQ(heap::delete_object(object), DeleteResult::kDeleted);
    heap::collect();
    expect_valid("after deletions in the child");
  }));
  for (Object* object : gone) ASSERT_FALSE(is_readable(object)) << object;
  expect_valid("in the parent");
}

// Where mappings are short, what is dead stays in one mapping with what lives, empty and watched; so does what moved where a mapping is refused. The child is
// not watched, and what waits there for emergencies is usable.
TEST_P(ForkedHeapTest, WhatWasLeftWatchedIsDeadInTheChild) {
  for (bool is_short : {false, true}) {
    if (is_short && GetParam() == core::Protection::kMprotect) continue;  // nothing is watched there
    if (is_short) {
      core::knobs.map_budget = 1;
      heap::maintain(false, false);
      ASSERT_TRUE(heap::are_mappings_short());
    }
    std::vector<Object*> all;
    for (size_t bytes = 0; bytes < 12 * core::kBlockSize; bytes += 1024) {
      all.push_back(allocate(&bytes_type.table, 1000));
      memset(reinterpret_cast<uint8_t*>(all.back()) + 16, 0x5a, 1000);
    }
    std::vector<Object*> gone, left;
    for (size_t i = 0; i < all.size(); i++) {
      if (i > all.size() / 4 && i < all.size() / 2) gone.push_back(all[i]);
      else left.push_back(all[i]);
    }
    for (Object* object : gone) ASSERT_EQ(heap::delete_object(object), DeleteResult::kDeleted);
    if (!is_short) {
      // Frames move on, and what they left cannot be collapsed.
      for (int i = 0; i < 10'000; i++) left.push_back(allocate(&bytes_type.table, 1000));
      os::inject_failures("mmap:1+");
      heap::collapse_moved(0);
      os::inject_failures("mmap:18446744073709551615");
    }
    heap::maintain(true, false);
    std::erase_if(gone, [](Object* object) { return is_readable(object); });
    ASSERT_GT(gone.size(), 1000u);
    EXPECT_TRUE(is_well_in_child([&] {
      heap::start_at_next_wake(nullptr);
      for (Object* object : gone) ASSERT_FALSE(is_readable(object)) << object;
      for (Object* object : left) ASSERT_TRUE(is_readable(object)) << object;
      for (size_t block; (block = heap::next_reserve_block(heap::is_reserve_mapped())) != heap::kNoBlock;)
        *reinterpret_cast<volatile uint8_t*>(core::arena.block_start(block)) = 1;
      for (size_t i = 0; i < 10'000; i++) ASSERT_EQ(heap::delete_object(allocate(&bytes_type.table, 1000)), DeleteResult::kDeleted);
      for (Object* object : left) ASSERT_EQ(heap::delete_object(object), DeleteResult::kDeleted);
      expect_valid("in the child");
    }));
    for (Object* object : left) ASSERT_EQ(heap::delete_object(object), DeleteResult::kDeleted);
    expect_valid("in the parent");
    core::knobs.map_budget = 0;
    heap::maintain(true, false);
  }
}

// Dead memory may read as zeros there: a walk finds the same live objects, behind headers at the end of a page whose next one is gone, too; and no mapping is made.
TEST_P(ForkedHeapTest, WhoOnlyReadsSeesTheSameObjects) {
  uint64_t seed = seed_of_run();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  std::vector<Object*> all;
  for (size_t bytes = 0; bytes < 4 * core::kBlockSize;) {
    auto length = static_cast<uint32_t>(random() % 3 == 0 ? random() % 12'000 : random() % 64);
    all.push_back(allocate(&bytes_type.table, length));
    bytes += all.back()->size();
  }
  for (Object* object : all) {
    if (random() % 16 == 0) continue;
    ASSERT_EQ(heap::delete_object(object), DeleteResult::kDeleted);
  }
  core::knobs.promotion = false;
  heap::collect();
  auto live = [] {
    std::vector<std::pair<uint8_t*, size_t>> found;
    heap::for_each_lower_block([&](size_t block) noexcept {
      if (core::arena.blocks[block].state.load() != core::BlockState::kLive) return;
      heap::walk_block<heap::Pages::kWithMemory>(block, [&](uint8_t* start, const heap::Walked& walked) noexcept {
        bool dead = (walked.header & core::kDeletedBit) != 0 || core::is_page_dead(core::arena.page_index(reinterpret_cast<uintptr_t>(start)));
        if (walked.step == heap::Step::kObject && !dead) found.emplace_back(start, walked.size);
      });
    });
    return found;
  };
  auto mappings = [] {
    std::ifstream maps("/proc/self/maps");
    return std::count(std::istreambuf_iterator<char>(maps), {}, '\n');
  };
  auto before = live();
  auto mapped = mappings();
  ASSERT_GT(before.size(), all.size() / 32);
  EXPECT_TRUE(is_well_in_child(
      [&] {
        EXPECT_LE(mappings(), mapped + 8);
        EXPECT_EQ(live(), before);
      },
      heap::ChildOfFork::kOnlyReads));
}

// The scope of the thread that forks goes on; what another thread had open is not waited for.
TEST_P(ForkedHeapTest, AScopeGoesOnInTheChild) {
  allocate(&node_type.table);  // stores are noted from the first chunk on
  for (bool has_one : {false, true}) {
    int64_t scope = has_one ? heap::begin_scope() : 0;
    ASSERT_EQ(scope != 0, has_one);
    EXPECT_TRUE(is_well_in_child([&] {
      EXPECT_EQ(heap::has_scope(), has_one);
      EXPECT_EQ(heap::is_noting_stores(), has_one);
      if (has_one) heap::leave_scope(scope);
      EXPECT_FALSE(heap::has_scope());
      EXPECT_FALSE(heap::is_noting_stores());
    }));
    EXPECT_EQ(heap::is_noting_stores(), has_one);
    if (has_one) heap::leave_scope(scope);
  }
}

// The background thread is not in the child. Who finds work there starts another.
TEST_P(ForkedHeapTest, TheBackgroundThreadStartsWhenThereIsWork) {
  EXPECT_TRUE(is_well_in_child([] {
    // By name: the thread sanitizer starts one of its own in a child that makes its first thread.
    auto threads = [] {
      size_t count = 0;
      for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
        std::ifstream file(task.path() / "comm");
        std::string name;
        if (std::getline(file, name) && name.starts_with("Freehold")) count++;
      }
      return count;
    };
    EXPECT_EQ(threads(), 0u);
    heap::wake_maintenance();
    EXPECT_EQ(threads(), 1u);
  }));
}

// The thread that makes fresh memory ahead has counted the block that it is at, which is in no list yet.
TEST_P(ForkedHeapTest, ABlockThatWasBeingPrefaultedIsNotCountedInTheChild) {
  ASSERT_TRUE(heap::prefault_block(4));
  heap::block_counters.prefaulted += 1;
  EXPECT_TRUE(is_well_in_child([] {
    EXPECT_EQ(heap::block_counters.prefaulted.load(), 1u);
    expect_valid("in the child");
    heap::drop_prefaulted();
    EXPECT_EQ(heap::block_counters.prefaulted.load(), 0u);
  }));
  heap::block_counters.prefaulted -= 1;
}

// Nor has the child the thread that makes it: another is to be started, and nobody wakes the one that sleeps in the parent. What a thread was about to take is nobody's.
TEST_P(ForkedHeapTest, MemoryIsMadeAheadInTheChildToo) {
  heap::set_prefaulting(true);
  heap::block_counters.starting += 1;
  EXPECT_TRUE(is_well_in_child([] {
    EXPECT_FALSE(heap::is_prefaulting());
    EXPECT_EQ(heap::block_counters.starting.load(), 0u);
    heap::note_growth();  // somebody takes fresh memory
    heap::start_prefaulting(true);
    EXPECT_TRUE(heap::is_prefaulting());
  }));
  heap::block_counters.starting -= 1;
  heap::set_prefaulting(false);
}

// A child of a fork that stopped nobody: whoever had the locks of phases is not here.
TEST_P(ForkedHeapTest, LocksOfPhasesAreForgottenWithTheirThreads) {
  heap::PromotionPause promotion;
  heap::MaintenancePause maintenance;
  pid_t child = fork();
  if (child == 0) {
    alarm(60);
    heap::forget_pauses_in_child();
    heap::go_on_in_child();
    heap::maintain(true, false);
    _exit(HasFailure() ? 1 : 0);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// The thread that makes fresh memory ahead is not stopped for a fork: the child must not inherit a lock that it had.
TEST_P(ForkedHeapTest, NoLockOfAThreadThatGoesOnIsLeftInTheChild) {
  allocate(&node_type.table);
  std::atomic<bool> ends{false};
  std::atomic<uint64_t> held{0};
  std::thread other([&] {
    while (!ends.load(std::memory_order_relaxed)) {
      {
        os::LockGuard guard(heap::block_lock);
        held.fetch_add(1, std::memory_order_relaxed);
        heap::lock_addresses();
        sched_yield();
        heap::unlock_addresses();
      }
      sched_yield();
    }
  });
  while (held.load(std::memory_order_relaxed) == 0) sched_yield();
  for (int i = 0; i < 20 && !HasFailure(); i++) {
    EXPECT_TRUE(is_well_in_child([&] {
      alarm(60);
      EXPECT_TRUE(heap::block_lock.try_lock());
      EXPECT_NE(heap::next_address(), heap::kNoBlock);
      heap::block_lock.unlock();
      EXPECT_NE(allocate(&node_type.table, 0), nullptr);
    }));
  }
  ends.store(true, std::memory_order_relaxed);
  other.join();
}

INSTANTIATE_TEST_SUITE_P(Protections, ForkedHeapTest, ::testing::Values(core::Protection::kUserfaultfd, core::Protection::kMprotect),
                         [](const auto& info) { return info.param == core::Protection::kUserfaultfd ? "userfaultfd" : "mprotect"; });

}  // namespace
}  // namespace freehold::testing
