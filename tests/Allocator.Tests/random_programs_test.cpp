// Random programs whose threads do anything at any time, beside marking and deletion (heap/concurrent_reclaim.h), and beside what else stops threads.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <shared_mutex>
#include <thread>

#include "concurrent_reclaim_fixture.h"
#include "heap/graph_deletion.h"
#include "heap/scopes.h"

namespace freehold::testing::beside {
namespace {

class Program {
 public:
  Program(uint64_t seed, std::vector<Object*>* shared, const std::function<Object*(heap::AllocationContext*, const core::MethodTable*, uint32_t)>& allocate)
      : random_(seed), shared_(shared), allocate_(allocate), registers_(8) {}
  std::vector<Object*>& registers() { return registers_; }

  void step() {
    Object*& to = registers_[random_() % registers_.size()];
    Object*& from = registers_[random_() % registers_.size()];
    switch (random_() % 16) {
      case 0:
      case 1:
      case 2: to = allocate_(&context_, &node_type.table, 0); break;
      case 3: to = allocate_(&context_, &references_type.table, static_cast<uint32_t>(1 + random_() % (random_() % 64 == 0 ? 9000 : 12))); break;
      case 4: to = (*shared_)[random_() % shared_->size()]; break;
      case 5:
      case 6:
      case 7:
        if (to != nullptr) store(to, word_of(to), from);
        break;
      case 8:
        if (to != nullptr) __atomic_store_n(words(to) + word_of(to), 0, __ATOMIC_RELAXED);
        break;
      case 9:
      case 10:
      case 11:
      case 12:
        if (from != nullptr) {
          Object* next = load(from, word_of(from));
          if (next != nullptr) to = next;
        }
        break;
      case 13: to = from; break;
      case 14: copy(to, from); break;
      case 15: delete_private(); break;
    }
    check(to);
  }
  void end() { heap::retire(&context_); }

  static inline std::atomic<uint64_t> violations{0};

 private:
  size_t word_of(Object* object) { return object->type->has_component_size() ? 2 + random_() % object->length : 1 + random_() % 3; }
  static void check(Object* object) {
    if (object != nullptr && heap::is_deleted(object)) violations++;
  }
  // As RhBulkMoveWithWriteBarrier does.
  void copy(Object* to, Object* from) {
    if (to == nullptr || from == nullptr || to == from || !to->type->has_component_size() || !from->type->has_component_size()) return;
    size_t count = 1 + random_() % std::min(to->length, from->length);
    for (size_t i = 0; i < count; i++) __atomic_store_n(words(to) + 2 + i, address(load(from, 2 + i)), __ATOMIC_RELEASE);
    freehold_after_move(reinterpret_cast<uint8_t*>(words(to) + 2), reinterpret_cast<uint8_t*>(words(from) + 2), count * sizeof(uint64_t));
  }
  // An object that nothing else leads to.
  void delete_private() {
    Object* object = allocate_(&context_, &node_type.table, 0);
    store(object, 1, registers_[0]);
    if (heap::delete_object(object) != DeleteResult::kDeleted) violations++;
  }

  std::mt19937_64 random_;
  std::vector<Object*>* shared_;
  std::function<Object*(heap::AllocationContext*, const core::MethodTable*, uint32_t)> allocate_;
  std::vector<Object*> registers_;
  heap::AllocationContext context_ = {};
};

class RandomProgramsTest : public ConcurrentReclaimTest {
 protected:
  void run(uint64_t steps, const std::vector<void (*)(std::vector<Object*>* statics, std::mt19937_64& random)>& others);

  static void let_others_stop() {
    while (wanted != 0) std::this_thread::yield();
  }
};

void RandomProgramsTest::run(uint64_t steps, const std::vector<void (*)(std::vector<Object*>* statics, std::mt19937_64& random)>& others) {
  uint64_t seed = seed_of_run();
  const char* given = getenv("FREEHOLD_TEST_STEPS");
  if (given != nullptr) steps = strtoull(given, nullptr, 10);
  printf("FREEHOLD_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
  SCOPED_TRACE("FREEHOLD_TEST_SEED=" + std::to_string(seed));
  constexpr size_t kThreads = 3;
  std::vector<Object*> statics;
  for (int i = 0; i < 8; i++) statics.push_back(allocate(&references_type.table, 64));
  roots.push_back(&statics);
  std::vector<std::unique_ptr<Program>> programs;
  for (size_t i = 0; i < kThreads; i++) {
    programs.push_back(std::make_unique<Program>(seed + i, &statics, [](heap::AllocationContext* context, const core::MethodTable* type, uint32_t length) {
      return allocate_with(context, type, length);
    }));
    roots.push_back(&programs.back()->registers());
  }
  std::atomic<size_t> left{kThreads};
  std::vector<std::thread> threads;
  for (auto& program : programs) {
    threads.emplace_back([&left, &program, steps] {
      for (uint64_t step = 0; step < steps;) {
        while (wanted != 0) std::this_thread::yield();
        std::shared_lock guard(running);
        for (int i = 0; i < 20; i++, step++) program->step();
      }
      {
        std::shared_lock guard(running);
        program->registers().assign(program->registers().size(), nullptr);
        program->end();
      }
      left--;
    });
  }
  std::atomic<uint64_t> turns{0};
  for (size_t i = 0; i < others.size(); i++) {
    threads.emplace_back([&, i] {
      std::mt19937_64 random(seed + kThreads + i);
      for (; left != 0; turns++) {
        others[i](&statics, random);
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 200));
      }
      heap::unregister_thread();
    });
  }
  int64_t reclaimed = 0;
  while (left != 0) {
    int64_t count = heap::reclaim();
    ASSERT_GE(count, 0);
    reclaimed += count;
    if (seed % 2 == 0) continue;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Program::violations.load(), 0u);
  // What the last programs left, too: this thread may have had no processor for most of the time.
  roots = {&mine_};
  reclaimed += heap::reclaim();
  EXPECT_GT(reclaimed, static_cast<int64_t>(steps / 100));
  EXPECT_GE(turns.load(), others.size());
  printf("%llu cycles, %lld objects, %llu stops, %llu turns of others\n", static_cast<unsigned long long>(heap::concurrent_reclaim_counters.cycles.load()),
         static_cast<long long>(reclaimed), static_cast<unsigned long long>(heap::concurrent_reclaim_counters.stops.load()),
         static_cast<unsigned long long>(turns.load()));
  heap::reclaim();
  EXPECT_EQ(heap::reclaim(), 0);
  expect_valid("after the programs");
}

TEST_F(RandomProgramsTest, OfThreads) { run(3'000'000, {}); }

// With lists of any length, and four markers.
TEST_F(RandomProgramsTest, WithOtherBoundsAndMarkers) {
  core::knobs.stress.reclaim = 1;
  core::knobs.reclaim_workers = 4;
  run(1'000'000, {});
}

// Other stops at any time of a marking: graphs and scopes that end, and forks. What the programs share may hang on them, and keeps some of it.
TEST_F(RandomProgramsTest, WithOtherStops) {
  auto end_scope = [](std::vector<Object*>* statics, std::mt19937_64& random) {
    static thread_local heap::AllocationContext context = {};
    std::vector<Object*> made, kept;
    int64_t scope;
    {
      let_others_stop();
      std::shared_lock guard(running);
      scope = heap::begin_scope();
      for (int i = 0; i < 20; i++) {
        made.push_back(allocate_with(&context, &node_type.table));
        store(made.back(), 1, made[random() % made.size()]);
        store(made.back(), 2, load((*statics)[random() % statics->size()], 2 + random() % 64));
        if (random() % 16 != 0) continue;
        Object* place = allocate_with(&context, &references_type.table, 1);
        store(place, 2, made.back());
        store((*statics)[random() % statics->size()], 2 + random() % 64, place);
      }
    }
    uint64_t none = 0;
    heap::ScopeDeletion result = {0, 0, 0};
    heap::ScopeResult ended = heap::end_scope(scope, &none, &result);
    if (ended != heap::ScopeResult::kDeleted || result.objects > 40) Program::violations++;
    std::shared_lock guard(running);
    heap::retire(&context);
  };
  auto delete_graph = [](std::vector<Object*>* statics, std::mt19937_64& random) {
    static thread_local heap::AllocationContext context = {};
    uint64_t root, none = 0;
    {
      let_others_stop();
      std::shared_lock guard(running);
      Object* first = allocate_with(&context, &node_type.table);
      for (size_t word = 1; word <= 2; word++) store(first, word, allocate_with(&context, &node_type.table));
      store(first, 3, load((*statics)[random() % statics->size()], 2 + random() % 64));
      // Its own: nobody else comes by, and the cycle at work has not been told of it.
      root = address(first);
      heap::retire(&context);
    }
    heap::GraphDeletion result;
    heap::GraphResult deleted = heap::delete_graph(&root, &none, &result);
    // A cycle that began meanwhile may have come first.
    if (deleted == heap::GraphResult::kDeleted ? result.objects < 1 : deleted != heap::GraphResult::kGone) Program::violations++;
  };
  auto fork_child = [](std::vector<Object*>*, std::mt19937_64& random) {
    if (random() % 64 != 0) return;
    heap::PromotionPause pause;
    pid_t child;
    {
      wanted++;
      std::unique_lock stop(running);
      wanted--;
      heap::MaintenancePause maintenance;
      heap::lock_thread_list();
      child = fork();
      if (child == 0) heap::keep_pauses_in_child();
      heap::unlock_thread_list();
    }
    if (child == 0) {
      alone = true;
      heap::promotion_lock.unlock();
      heap::forget_other_threads();
      heap::forget_barrier_writer();
      heap::forget_scopes_of_other_threads();
      heap::forget_marking();
      expect_valid("in the child");
      for (const auto* some : roots) {
        for (const Object* object : *some) {
          if (object != nullptr && heap::is_deleted(object)) _exit(2);
        }
      }
      bool done = heap::reclaim() >= 0 && heap::reclaim() == 0;
      expect_valid("after the child's reclaim");
      _exit(done && !HasFailure() ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    if (status != 0) Program::violations++;
  };
  run(600'000, {end_scope, delete_graph, fork_child});
}

}  // namespace
}  // namespace freehold::testing::beside
