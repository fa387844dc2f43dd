// The background thread: what wakes it, when it stops others, and what it does in a heap that has all its threads.
#include "heap/maintenance.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "heap/background_thread.h"
#include "heap/cards.h"
#include "heap/forwarding.h"
#include "heap/maintenance_signals.h"
#include "heap/phases.h"
#include "heap/pin_release.h"
#include "heap/promotion_counters.h"
#include "heap_fixture.h"
#include "moving_words.h"
#include "os/failure_injection.h"
#include "os/signals.h"

namespace freehold::testing {
namespace {

using core::Object;
using heap::DeleteResult;

constexpr uint64_t kLong = 3'600'000'000'000;  // a test that waits so long has failed

TEST(MaintenanceSignals, AWaitEndsWhenSomebodySaysSo) {
  heap::forget_work();
  heap::forget_hurry();
  EXPECT_FALSE(heap::has_work());
  heap::wait_for_work(1);  // nobody does
  EXPECT_FALSE(heap::has_work());
  std::thread sleeper([] {
    heap::wait_for_work(kLong);
    heap::wait_for_hurry(kLong);
  });
  heap::wake_maintenance();
  EXPECT_TRUE(heap::has_work());
  EXPECT_FALSE(heap::has_hurry());
  heap::hurry_maintenance();
  sleeper.join();
  EXPECT_TRUE(heap::has_hurry());
  // What was said before is not waited for.
  heap::wait_for_work(kLong);
  heap::wait_for_hurry(kLong);
  heap::forget_work();
  heap::forget_hurry();
  EXPECT_FALSE(heap::has_work());
  EXPECT_FALSE(heap::has_hurry());
}

// As in the child of a fork, which has no thread to wake.
TEST(MaintenanceSignals, TheFirstWakeStartsTheThreads) {
  static int starts;
  starts = 0;
  heap::forget_work();
  heap::start_at_next_wake([] {
    starts++;
    return true;
  });
  EXPECT_EQ(starts, 0);
  heap::wake_maintenance();
  EXPECT_EQ(starts, 1);
  heap::wake_maintenance();
  heap::forget_work();
  heap::wake_maintenance();
  EXPECT_EQ(starts, 1);
  heap::forget_work();
}

// A thread of the heap takes none of the program's signals: only those of its own faults, and the one that holds it in a stress mode.
TEST(BackgroundThread, TakesOnlyItsOwnSignals) {
  static os::SignalMask blocked, callers, callers_after;
  static char name[16];
  static std::atomic<bool> done;
  done = false;
  os::change_signal_mask(SIG_BLOCK, nullptr, &callers);
  ASSERT_TRUE(heap::start_background_thread("Freehold test", [](void*) -> void* {
    os::change_signal_mask(SIG_BLOCK, nullptr, &blocked);
    // The name is given by the thread that starts this one, which may be slower.
    while (pthread_getname_np(pthread_self(), name, sizeof name) != 0 || strcmp(name, "Freehold test") != 0) sched_yield();
    done.store(true, std::memory_order_release);
    return nullptr;
  }));
  while (!done.load(std::memory_order_acquire)) sched_yield();
  os::change_signal_mask(SIG_BLOCK, nullptr, &callers_after);
  EXPECT_EQ(callers_after, callers);
  for (int signal : {SIGINT, SIGTERM, SIGUSR1, SIGCHLD, SIGPROF, SIGRTMIN + 3}) EXPECT_NE(blocked & os::signal_bit(signal), 0u) << signal;
  for (int signal : {SIGSEGV, SIGBUS, heap::kPreemptionSignal}) EXPECT_EQ(blocked & os::signal_bit(signal), 0u) << signal;
}

class PinReleaseTest : public HeapTest {
 protected:
  static inline int scans;
  void SetUp() override {
    HeapTest::SetUp();
    scans = 0;
    heap::set_pin_scanner([](const heap::PinScan& scan) {
      scans++;
      scan.stopped(scan.argument);
      scan.seen(scan.argument);
      return true;
    });
  }
  void TearDown() override {
    heap::set_pin_scanner(nullptr);
    HeapTest::TearDown();
  }
};

// Each stop that finds nothing doubles the ticks until the next, up to 32; more blocks that wait end that.
TEST_F(PinReleaseTest, StopsThatFindNothingBecomeRare) {
  for (uint32_t ticks = 2, round = 0; round < 8; round++, ticks = std::min(2 * ticks, 32u)) {
    heap::note_unpinned();
    heap::release_unpinned_blocks(false, false);
    EXPECT_EQ(scans, static_cast<int>(round + 1));
    for (uint32_t tick = 1; tick < ticks; tick++) EXPECT_FALSE(heap::may_stop_for_pins()) << "tick " << tick << " of " << ticks;
    EXPECT_TRUE(heap::may_stop_for_pins()) << ticks;
  }
  heap::release_unpinned_blocks(false, false);
  EXPECT_FALSE(heap::may_stop_for_pins());
  heap::block_counters.pinned.fetch_add(1);
  EXPECT_TRUE(heap::may_stop_for_pins());
  heap::block_counters.pinned.fetch_sub(1);
}

// Others wait for the lock of maintenance with all threads stopped. Between any two of its steps they get it, and find that little has happened since.
TEST_F(PinReleaseTest, TrimAndCollapseHaveTheLockForOneStepAtATime) {
  constexpr size_t kBlocks = 24;
  auto fill = [this](size_t blocks) {
    std::vector<Object*> objects;
    for (size_t bytes = 0; bytes < blocks * core::kBlockSize; bytes += 40) objects.push_back(allocate(&node_type.table));
    return objects;
  };
  auto block_of = [](Object* object) { return core::arena.block_index(reinterpret_cast<uintptr_t>(object)); };
  for (bool collapse : {false, true}) {
    SCOPED_TRACE(collapse ? "collapse" : "trim");
    // No neighbours, which would go together.
    std::vector<Object*> objects = fill(2 * kBlocks + 2);
    size_t first_block = block_of(objects.front()), died = heap::block_counters.pooled.load();
    for (Object* object : objects) {
      if ((block_of(object) - first_block) % 2 == 0) continue;
      ASSERT_EQ(heap::delete_object(object), DeleteResult::kDeleted);
    }
    died = heap::block_counters.pooled.load() - died;
    ASSERT_GT(died, kBlocks / 2);
    if (collapse) fill(died);
    std::atomic<uint64_t>& counter = collapse ? heap::block_counters.moved : heap::block_counters.pooled;
    ASSERT_GE(counter.load(), died - 1);
    std::atomic<bool> done{false};
    std::atomic<uint64_t> seen{counter.load()}, most_at_once{0};
    // Two threads take turns, and each lets go when the other and maintenance wait: the next one to see the counter comes behind one step, or none.
    auto watch = [&] {
      while (!done) {
        heap::maintenance_lock.lock();
        uint64_t now = counter.load(), before = seen.exchange(now);
        if (before > now && before - now > most_at_once) most_at_once = before - now;
        while (!done && heap::maintenance_lock.waiters() < 2) std::this_thread::yield();
        heap::maintenance_lock.unlock();
      }
    };
    heap::maintenance_lock.lock();
    std::thread first(watch), second(watch), maintainer([&] {
      heap::maintain(true, false);
      done = true;
    });
    while (heap::maintenance_lock.waiters() < 3) std::this_thread::yield();
    heap::maintenance_lock.unlock();
    for (std::thread* thread : {&first, &second, &maintainer}) thread->join();
    EXPECT_EQ(counter.load(), 0u);
    EXPECT_LE(most_at_once.load(), 2u);  // a step, and the block that the round itself takes
  }
}

// A process of its own: threads of the heap never end.
class WholeHeapDeathTest : public ::testing::Test {
 protected:
  static void require(bool condition, const char* what) {
    if (condition) return;
    fprintf(stderr, "not so: %s\n", what);
    exit(1);
  }

  static void answer_faults() {
    struct sigaction action = {};
    action.sa_sigaction = recover;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGSEGV, &action, nullptr);
    sigaction(SIGBUS, &action, nullptr);
    core::knobs = {};
    core::knobs.address_space = uint64_t{1} << 40;
  }

  template <typename Condition>
  static void wait_until(Condition condition, const char* what) {
    for (int i = 0; i < 60'000; i++) {
      if (condition()) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    require(false, what);
  }

  // As HeapTest::allocate, for objects of 40 bytes.
  static Object* allocate_node(heap::AllocationContext* context) {
    if (static_cast<size_t>(context->alloc_limit - context->alloc_ptr) < node_type.table.base_size) {
      auto* object = static_cast<Object*>(heap::allocate(context, node_type.table.base_size, 0));
      require(object != nullptr, "there is memory");
      object->type = &node_type.table;
      return object;
    }
    auto* object = reinterpret_cast<Object*>(context->alloc_ptr);
    context->alloc_ptr += node_type.table.base_size;
    object->type = &node_type.table;
    return object;
  }
};

TEST_F(WholeHeapDeathTest, GivesMemoryBackByItself) {
  auto program = [] {
    answer_faults();
    require(heap::initialize(uint64_t{1} << 30), "the heap begins");
    require(heap::heap_limit() == uint64_t{1} << 30, "the limit is the one that was given");
    heap::AllocationContext context = {};
    std::vector<Object*> all;
    for (size_t i = 0; i < 2'000'000; i++) all.push_back(allocate_node(&context));
    require(heap::resident_bytes() > 70'000'000, "the objects have memory");
    require(heap::total_allocated_bytes() >= 80'000'000 && heap::total_bytes_in_use() >= 80'000'000, "the accounts have them");
    for (Object* object : all) require(heap::delete_object(object) == DeleteResult::kDeleted, "an object is deleted");
    require(heap::total_bytes_in_use() < 1'000'000, "the accounts have the deletions");
    wait_until([] { return heap::resident_bytes() < 10'000'000; }, "the memory is given back");
    exit(0);
  };
  EXPECT_EXIT(program(), ::testing::ExitedWithCode(0), "");
}

// Every thread that a stress mode adds, beside one that allocates, stores and deletes by names old and new.
TEST_F(WholeHeapDeathTest, MovesBesideAProgramUnderStress) {
  auto program = [] {
    answer_faults();
    core::knobs.stress.promote = 200;
    core::knobs.stress.reclaim = 1000;
    core::knobs.stress.deletion = 1000;
    require(heap::initialize(uint64_t{1} << 30), "the heap begins");
    heap::AllocationContext context = {};
    constexpr size_t kNodes = 20'000;
    std::vector<Object*> nodes(kNodes);
    for (size_t i = 0; i < kNodes; i++) nodes[i] = allocate_node(&context);
    std::mt19937_64 random(1);
    for (size_t step = 0; heap::promotion_counters.rounds.load() < 20 || step < 200'000; step++) {
      require(step < 2'000'000'000, "rounds come");
      size_t at = random() % kNodes, to = random() % kNodes;
      store(nodes[at], 1, reinterpret_cast<uint64_t>(nodes[to]));
      store(nodes[at], 2, to);
      require(heap::is_same(load(nodes[at], 1), reinterpret_cast<uintptr_t>(nodes[to])), "what was stored is there");
      require(load(nodes[at], 2) == to, "the number beside it too");
      require(heap::delete_object(nodes[to]) == DeleteResult::kDeleted, "an object is deleted, by whatever name");
      nodes[to] = allocate_node(&context);
    }
    exit(0);
  };
  EXPECT_EXIT(program(), ::testing::ExitedWithCode(0), "");
}

TEST_F(WholeHeapDeathTest, WithoutAddressesItSaysSo) {
  auto program = [] {
    answer_faults();
    os::inject_failures("mmap:1+");
    exit(heap::initialize(uint64_t{1} << 30) ? 0 : 7);
  };
  EXPECT_EXIT(program(), ::testing::ExitedWithCode(7), "needs 64 GB of addresses");
}

TEST_F(WholeHeapDeathTest, AProtectionThatTheKernelRefusesIsNotReplaced) {
  auto program = [] {
    answer_faults();
    core::knobs.protection = core::Protection::kUserfaultfd;
    os::inject_failures("userfaultfd:1+");
    exit(heap::initialize(uint64_t{1} << 30) ? 0 : 7);
  };
  EXPECT_EXIT(program(), ::testing::ExitedWithCode(7), "refuses userfaultfd, which FREEHOLD_PROTECTION=userfaultfd demands");
}

}  // namespace
}  // namespace freehold::testing
