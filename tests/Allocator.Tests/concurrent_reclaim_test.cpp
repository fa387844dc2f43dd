// Marking and deletion beside threads that allocate, store, copy and forget (heap/concurrent_reclaim.h).
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <thread>

#include "concurrent_reclaim_fixture.h"
#include "heap/graph_deletion.h"
#include "heap/outgrown_arrays.h"
#include "heap/scopes.h"

namespace freehold::testing::beside {
namespace {

TEST_F(ConcurrentReclaimTest, WhatNoRootReachesIsDeletedOnce) {
  Object *leaf = node(), *root = node({leaf}), *lost_leaf = node(), *lost = node({lost_leaf, root}), *array = allocate(&bytes_type.table, 5'000'000),
         *large = allocate(&bytes_type.table, 100'000), *kept = allocate(&references_type.table, 3'000'000), *last = node();
  store(lost_leaf, 1, lost);
  store(kept, 1 + 3'000'000, last);
  mine_ = {root, kept};
  EXPECT_EQ(heap::reclaim(), 4);
  for (Object* object : {lost, lost_leaf, array, large}) EXPECT_TRUE(heap::is_deleted(object));
  for (Object* object : {root, leaf, kept, last}) EXPECT_FALSE(heap::is_deleted(object));
  EXPECT_EQ(heap::reclaim(), 0);
  mine_.clear();
  EXPECT_EQ(heap::reclaim(), 4);
  EXPECT_EQ(heap::concurrent_reclaim_counters.cycles.load(), 3u);
  EXPECT_EQ(stops, 6);
  EXPECT_FALSE(heap::is_marking());
  expect_valid("after the deletion");
}

// Each is stored, or born, while marking: at the end of the first stop nothing leads to it that the marker has yet to see.
TEST_F(ConcurrentReclaimTest, WhatIsStoredWhileMarkingStays) {
  static Object *root, *hidden, *born, *of_born, *moved, *target;
  root = node(), of_born = node(), moved = node(), hidden = node();
  target = allocate(&references_type.table, 4);
  store(root, 3, target);
  mine_ = {root};
  static heap::AllocationContext* context;
  context = &context_;
  in_stop = [] {
    if (stops == 2) {
      // The threads hold nothing of it any more.
      store(root, 1, hidden);
      born = allocate_with(context, &node_type.table);
      store(born, 1, of_born);
      store(root, 2, born);
      words(target)[2] = address(moved);
      freehold_after_move(reinterpret_cast<uint8_t*>(words(target) + 2), nullptr, sizeof(uint64_t));
    }
  };
  EXPECT_EQ(heap::reclaim(), 0);
  EXPECT_EQ(stops, 2);
  for (Object* object : {hidden, born, of_born, moved}) EXPECT_FALSE(heap::is_deleted(object));
}

// A store that no barrier has seen: what the program may not do, and the check of FREEHOLD_VERIFY is for.
TEST_F(ConcurrentReclaimTest, TheCheckFindsWhatIsLost) {
  static Object *root, *hidden;
  root = node(), hidden = node();
  mine_ = {root};
  in_stop = [] {
    if (stops == 2) words(root)[1] = address(hidden);
  };
  EXPECT_DEATH(heap::reclaim(), "has lost an object");
}

TEST_F(ConcurrentReclaimTest, AMoveIntoSomethingFrozenCounts) {
  static Object* stored;
  stored = node();
  static uint64_t memory[] = {0, reinterpret_cast<uint64_t>(&node_type.table), 0, 0, 0, 0};
  memory[3] = 0;
  frozen.emplace_back(reinterpret_cast<uint8_t*>(memory + 1), reinterpret_cast<uint8_t*>(memory + 6));
  in_stop = [] {
    if (stops != 2) return;
    memory[3] = address(stored);
    freehold_after_move(reinterpret_cast<uint8_t*>(memory + 3), nullptr, sizeof(uint64_t));
  };
  EXPECT_EQ(heap::reclaim(), 0);
  EXPECT_FALSE(heap::is_deleted(stored));
  in_stop = nullptr;
  EXPECT_EQ(heap::reclaim(), 0);
  memory[3] = 0;
  EXPECT_EQ(heap::reclaim(), 1);
}

// Only the marker goes through them, beside the threads. A stop does not, whatever was moved to a stack or into one of them.
TEST_F(ConcurrentReclaimTest, NoStopGoesThroughFrozenObjects) {
  core::knobs.verify = false;  // its check does
  static Object *stored, *on_stack;
  stored = node(), on_stack = node();
  static uint64_t memory[3'000 * 5];
  memset(memory, 0, sizeof memory);
  for (size_t i = 0; i < 3'000; i++) memory[5 * i + 1] = reinterpret_cast<uint64_t>(&node_type.table);
  frozen.emplace_back(reinterpret_cast<uint8_t*>(memory + 1), reinterpret_cast<uint8_t*>(memory + 3'000 * 5));
  static int walks;
  walks = 0;
  at_frozen = [] { walks += stopped_now ? 1 : 0; };
  in_stop = [] {
    if (stops != 2) return;
    uint64_t local = address(on_stack);
    freehold_after_move(reinterpret_cast<uint8_t*>(&local), nullptr, sizeof local);
    memory[5 * 2'000 + 3] = address(stored);
    freehold_after_move(reinterpret_cast<uint8_t*>(memory + 5 * 2'000 + 3), nullptr, sizeof(uint64_t));
    walks = 0;  // the threads', to find one of them
  };
  EXPECT_EQ(heap::reclaim(), 1);
  EXPECT_FALSE(heap::is_deleted(stored));
  EXPECT_TRUE(heap::is_deleted(on_stack));
  EXPECT_EQ(walks, 0);
}

// Block moves into an object whose header has lost its memory: it can be found neither beside the threads nor when they stand. So many of them that some are
// not noted end the marking, and nothing is deleted.
TEST_F(ConcurrentReclaimTest, MovesIntoWhatHasNoHeader) {
  static Object *across, *lost;
  static int moves;
  across = headless();
  ASSERT_NE(across, nullptr);
  heap::reclaim();
  for (int count : {3, 5'000}) {
    lost = node();
    moves = count;
    stops = 0;
    in_stop = [] {
      if (stops != 2) return;
      for (int i = 0; i < moves; i++) {
        uint64_t source = address(lost);
        words(across)[3] = source;
        freehold_after_move(reinterpret_cast<uint8_t*>(words(across) + 3), reinterpret_cast<uint8_t*>(&source), sizeof source);
      }
    };
    int64_t deleted = heap::reclaim();
    // Too many to look at: the marking is abandoned, and one with the threads stopped follows.
    EXPECT_EQ(heap::concurrent_reclaim_counters.abandoned.load(), count == 3 ? 0u : 1u);
    EXPECT_EQ(deleted, 1);
    EXPECT_FALSE(heap::is_marking());
    expect_valid("after it");
  }
}

// What threads had shaded when a marking was abandoned is not read by the next one, and hides nothing that they shade then.
TEST_F(ConcurrentReclaimTest, AnAbandonedMarkingLeavesNothing) {
  static Object *across, *shaded, *scanned, *chain;
  across = headless();
  ASSERT_NE(across, nullptr);
  heap::reclaim();
  scanned = node();
  static std::vector<Object*> strangers;
  strangers.clear();
  for (int i = 0; i < 100; i++) strangers.push_back(node());
  for (int cycle = 0; cycle < 3; cycle++) {
    Object* last = chain = node();
    for (int i = 0; i < 3'000; i++) {
      Object* next = node();
      store(last, 1, next);
      last = next;
    }
    shaded = node({node()});
    mine_ = {scanned, shaded};
    stops = 0;
    if (cycle == 0) {
      in_stop = [] {
        if (stops != 2) return;
        for (Object* object : strangers) heap::shade(address(object));
        uint64_t source = address(shaded);
        for (int i = 0; i < 5'000; i++) freehold_after_move(reinterpret_cast<uint8_t*>(words(across) + 3), reinterpret_cast<uint8_t*>(&source), sizeof source);
      };
      EXPECT_GE(heap::reclaim(), 0);
      EXPECT_EQ(heap::concurrent_reclaim_counters.abandoned.load(), 1u);
      EXPECT_EQ(heap::shading.queued.load(), 0u);
      EXPECT_FALSE(heap::shading.any_overflowed.load());
      for (size_t i = 0; i < 200; i++) EXPECT_EQ(heap::shading.queue[i].load(), 0u) << i;
      continue;
    }
    // Behind the marker: only the queue tells of the chain.
    in_stop = [] {
      if (stops == 2) store(scanned, 1, chain);
    };
    EXPECT_GE(heap::reclaim(), 0);
    EXPECT_FALSE(heap::is_deleted(last)) << cycle;
    EXPECT_EQ(heap::concurrent_reclaim_counters.abandoned.load(), 1u);
  }
  in_stop = nullptr;
}

// Each would wait for ever here, on the thread that marks, if it needed what the marking holds to its end.
TEST_F(ConcurrentReclaimTest, OtherStopsDoNotWaitForAMarking) {
  static Object *array, *finalizable, *graph, *lost, *outgrown, *in_scope;
  static int64_t scope;
  array = allocate(&references_type.table, 4), lost = node(), graph = node({node({lost})});
  outgrown = allocate(&references_type.table, 10), finalizable = nullptr;
  scope = heap::begin_scope();
  ASSERT_NE(scope, 0);
  in_scope = node({node()}), finalizable = node({node()}, &finalizable_node_type.table);
  mine_ = {array};
  weak = {address(in_scope), address(graph)};
  while_marking = [] {
    EXPECT_FALSE(heap::place_lock.try_lock());
    EXPECT_EQ(heap::promote(heap::PromotionScope::kAll, false), 0u);
    int64_t unreachable = 0;
    EXPECT_TRUE(heap::find_unreachable([](Object*, const core::MethodTable*, size_t, void* count) { ++*static_cast<int64_t*>(count); }, &unreachable));
    EXPECT_EQ(unreachable, 3 + 1 + 2 + 2);
    uint64_t root = address(graph), none = 0, list = address(array);
    heap::GraphDeletion of_graph;
    EXPECT_EQ(heap::delete_graph(&root, &none, &of_graph), heap::GraphResult::kDeleted);
    EXPECT_EQ(of_graph.objects, 3u);
    EXPECT_EQ(weak[1], 0u);
    // Its finalizer is the caller's to run, from an array that the marker has seen before.
    heap::ScopeDeletion of_scope;
    EXPECT_EQ(heap::end_scope(scope, &list, &of_scope), heap::ScopeResult::kFinalizable);
    EXPECT_EQ(words(array)[2], address(finalizable));
    EXPECT_TRUE(heap::is_marked(address(finalizable)));
    EXPECT_TRUE(heap::claim_finalizer(address(finalizable)));
    words(array)[2] = 0;
    EXPECT_EQ(heap::end_scope(scope, &list, &of_scope), heap::ScopeResult::kDeleted);
    EXPECT_EQ(of_scope.objects, 4u);
    EXPECT_EQ(weak[0], 0u);
    words(array)[2] = address(outgrown);
    heap::OutgrownArrays of_collections = {0, 0};
    EXPECT_TRUE(heap::delete_outgrown(&list, 1, false, &of_collections));
    EXPECT_TRUE(heap::is_deleted(outgrown));
  };
  EXPECT_EQ(heap::reclaim(), 0);
  EXPECT_EQ(while_marking, nullptr);
  for (Object* object : {graph, lost, in_scope, finalizable}) EXPECT_TRUE(heap::is_deleted(object));
  EXPECT_EQ(heap::finalizable_count(), 0u);
  EXPECT_EQ(heap::concurrent_reclaim_counters.cycles.load(), 1u);
  EXPECT_TRUE(heap::place_lock.try_lock());
  heap::place_lock.unlock();
  expect_valid("after all");
}

// The child has no marker. It forgets what the parent's was doing, and marks by itself; the parent goes on.
TEST_F(ConcurrentReclaimTest, ForksDoNotWaitForAMarking) {
  static Object* hidden;
  Object* root = node({node()});
  hidden = node({node()});
  mine_ = {root};
  weak = {address(hidden)};
  static int status;
  status = -1;
  while_marking = [] {
    // As runtime/fork.cpp does.
    heap::PromotionPause pause;
    pid_t child;
    {
      std::unique_lock stop(running);
      heap::MaintenancePause maintenance;
      child = fork();
      if (child == 0) heap::keep_pauses_in_child();
    }
    if (child == 0) {
      alone = true;
      heap::forget_barrier_writer();
      heap::forget_marking();
      bool forgotten = !heap::is_marking() && heap::shading.marks == nullptr;
      heap::promotion_lock.unlock();
      // The marker had shaded neither, and what is stored without a marking is not looked at.
      store(reinterpret_cast<Object*>(roots[0]->front()), 2, hidden);
      bool keeps = heap::reclaim() == 0 && !heap::is_deleted(hidden);
      __atomic_store_n(words(roots[0]->front()) + 2, 0, __ATOMIC_RELAXED);
      bool deletes = heap::reclaim() == 2 && heap::is_deleted(hidden) && weak[0] == 0;
      expect_valid("in the child");
      _exit(forgotten && keeps && deletes && !HasFailure() ? 0 : 1);
    }
    waitpid(child, &status, 0);
  };
  EXPECT_EQ(heap::reclaim(), 2);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(heap::is_deleted(hidden));
  expect_valid("in the parent");
}

// What lies inside an object is found by a walk, which a page that goes away would end: no memory is given back while roots are read.
TEST_F(ConcurrentReclaimTest, NothingIsGivenBackInItsStops) {
  static int times;
  times = 0;
  at_roots = [] {
    times++;
    if (heap::maintenance_lock.try_lock()) {
      heap::maintenance_lock.unlock();
      ADD_FAILURE() << "memory can be given back";
    }
  };
  mine_ = {node({node()})};
  EXPECT_EQ(heap::reclaim(), 0);
  EXPECT_GE(times, 2);
}

// The block of a primary that the program has deleted is gone, and has no marks.
TEST_F(ConcurrentReclaimTest, DependentsOfWhatIsGoneAreCleared) {
  Object *primary = allocate(&references_type.table, 300'000), *secondary = node({node()});
  dependents = {{address(primary), address(secondary)}};
  weak = {address(primary)};
  heap::delete_object(primary);
  EXPECT_EQ(heap::reclaim(), 2);
  EXPECT_TRUE(heap::is_deleted(secondary));
  EXPECT_EQ(dependents[0].primary, 0u);
  EXPECT_EQ(weak[0], 0u);
}

// What a thread holds at the end and the marker has not met: much of it is marked beside the threads, and another stop follows.
TEST_F(ConcurrentReclaimTest, TheStopDoesNotMarkMuch) {
  static Object* first;
  first = node();
  Object* last = first;
  for (int i = 0; i < 100'000; i++) {
    Object* next = node();
    store(last, 1, next);
    last = next;
  }
  node();
  in_stop = [] {
    if (stops == 2) roots[0]->push_back(first);
  };
  EXPECT_EQ(heap::reclaim(), 1);
  EXPECT_EQ(stops, 3);
  EXPECT_FALSE(heap::is_deleted(last));
}

TEST_F(ConcurrentReclaimTest, FinalizersRunBeforeTheDeletion) {
  Object *needed = node(), *second = node({needed}, &finalizable_node_type.table), *first = node({second}, &finalizable_node_type.table);
  Object *finalized = node({node()}, &finalizable_node_type.table), *kept = node({}, &finalizable_node_type.table), *lost = node();
  __atomic_fetch_or(finalized->sync_word(), core::kSyncFinalizerRun, __ATOMIC_RELAXED);
  mine_ = {kept};
  weak = {address(kept), address(lost), address(first), address(needed), 0};
  long_weak = {address(kept), address(lost), address(first), address(needed), 0};
  dependents = {{address(first), address(node())}, {address(lost), address(node())}, {0, 0}};
  EXPECT_EQ(heap::reclaim(), 4);
  EXPECT_EQ(weak, (std::vector<uint64_t>{address(kept), 0, 0, 0, 0}));
  EXPECT_EQ(long_weak, (std::vector<uint64_t>{address(kept), 0, address(first), address(needed), 0}));
  EXPECT_EQ(dependents[0].primary, address(first));
  EXPECT_FALSE(heap::is_deleted(reinterpret_cast<Object*>(dependents[0].secondary)));
  EXPECT_EQ(dependents[1].primary, 0u);
  EXPECT_TRUE(heap::is_deleted(finalized));
  EXPECT_EQ(heap::finalizable_count(), 2u);
  EXPECT_EQ(heap::reclaim(), 0);
  EXPECT_EQ(heap::finalizable_count(), 2u);
  std::set<uint64_t> taken;
  for (int i = 0; i < 2; i++) taken.insert(heap::next_finalizable());
  EXPECT_EQ(taken, (std::set<uint64_t>{address(first), address(second)}));
  // As ReRegisterForFinalize does, while marking: the object stays this time.
  static Object* again;
  again = second;
  in_stop = [] {
    if (stops % 2 != 0) return;
    freehold_registered_again = 1;
    __atomic_fetch_and(again->sync_word(), ~core::kSyncFinalizerRun, __ATOMIC_RELAXED);
  };
  EXPECT_EQ(heap::reclaim(), 2);
  in_stop = nullptr;
  EXPECT_TRUE(heap::is_deleted(first));
  EXPECT_FALSE(heap::is_deleted(second));
  EXPECT_EQ(heap::reclaim(), 0);
  EXPECT_EQ(heap::next_finalizable(), address(second));
  EXPECT_EQ(heap::reclaim(), 2);
  EXPECT_TRUE(heap::is_deleted(needed));
  expect_valid("after the deletions");
}

TEST_F(ConcurrentReclaimTest, ChainsOfDependentsStay) {
  std::vector<Object*> chain;
  for (int i = 0; i < 100; i++) chain.push_back(node());
  for (size_t i = chain.size() - 1; i > 0; i--) dependents.push_back({address(chain[i - 1]), address(chain[i])});
  mine_ = {chain[0]};
  EXPECT_EQ(heap::reclaim(), 0);
  mine_.clear();
  EXPECT_EQ(heap::reclaim(), 100);
}

TEST_F(ConcurrentReclaimTest, EntriesOfLocksWaitForTheirRelease) {
  *node()->sync_word() = core::kSyncIsHashOrIndex | 7;
  *node()->sync_word() = core::kSyncIsHashOrIndex | core::kSyncIsHash | 8;
  EXPECT_EQ(heap::reclaim(), 2);
  EXPECT_EQ(heap::take_dead_lock(), 7u);
  EXPECT_EQ(heap::take_dead_lock(), 0u);
}

// The stop that was to end it is refused, as in the child of a fork that another thread made meanwhile: the marking leaves nothing behind.
TEST_F(ConcurrentReclaimTest, WithoutTheLastStopNothingIsDecided) {
  core::knobs.reclaim_concurrent = true;
  Object* lost = node();
  while_marking = [] { refused_stops = 1; };
  int64_t deleted = heap::reclaim();
  EXPECT_EQ(heap::concurrent_reclaim_counters.abandoned.load(), 1u);
  EXPECT_FALSE(heap::is_marking());
  EXPECT_EQ(refused_stops, 0);
  // One with the threads stopped may have followed.
  EXPECT_TRUE(deleted == 1 || !heap::is_deleted(lost));
  Object* next = node();
  EXPECT_GE(heap::reclaim(), 1);
  EXPECT_TRUE(heap::is_deleted(next));
  expect_valid("after both");
}

TEST_F(ConcurrentReclaimTest, WithoutMemoryNothingIsDeleted) {
  mine_ = {node({node()})};
  for (const char* call : {"mmap", "mprotect"}) {
    for (int i = 1; i <= 24; i++) {
      heap::forget_marks();  // as in the child of a fork
      std::string failure = std::string(call) + ":" + std::to_string(i);
      Object *needed = node(), *finalizable = node({needed}, &finalizable_node_type.table), *other = node();
      ASSERT_TRUE(os::inject_failures(failure.c_str()));
      bool done = heap::reclaim() >= 0;
      ASSERT_TRUE(os::inject_failures("mmap:18446744073709551615,mprotect:18446744073709551615"));
      EXPECT_FALSE(heap::is_marking()) << failure;
      EXPECT_EQ(heap::is_deleted(other), done) << failure;
      EXPECT_FALSE(heap::is_deleted(finalizable) || heap::is_deleted(needed)) << failure;
      while (heap::next_finalizable() != 0) {}
      heap::reclaim();
      while (heap::next_finalizable() != 0) {}
      EXPECT_GE(heap::reclaim(), 0);
      EXPECT_TRUE(heap::is_deleted(finalizable)) << failure;
    }
  }
  EXPECT_GT(heap::concurrent_reclaim_counters.abandoned.load(), 5u);
}

TEST_F(ConcurrentReclaimTest, BeforeThereIsARuntimeNothingIsFound) {
  node();
  can_stop = false;
  EXPECT_EQ(heap::reclaim(), -1);
  EXPECT_FALSE(heap::is_marking());
}

// In the child of a fork, new threads get the memory of those that are not there.
TEST_F(ConcurrentReclaimTest, TheChildOfAForkKnowsItsOwnThread) {
  allocate(&node_type.table);
  std::mutex ends;
  std::atomic<bool> allocated{false};
  ends.lock();
  std::thread other([&] {
    heap::AllocationContext context = {};
    allocate_with(&context, &node_type.table);
    heap::delete_object(allocate_with(&context, &node_type.table));
    allocated = true;
    ends.lock();
    ends.unlock();
    heap::retire(&context);
  });
  while (!allocated) std::this_thread::yield();
  heap::ThreadTotals before = heap::thread_totals();
  pid_t child = fork();
  if (child == 0) {
    heap::forget_other_threads();
    static size_t contexts = 0;
    heap::for_each_context([](const heap::AllocationContext&) noexcept { contexts++; });
    heap::ThreadTotals after = heap::thread_totals();
    _exit(contexts == 1 && after.deleted_objects == before.deleted_objects && after.live_bytes() == before.live_bytes() ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  ends.unlock();
  other.join();
}

}  // namespace
}  // namespace freehold::testing::beside
