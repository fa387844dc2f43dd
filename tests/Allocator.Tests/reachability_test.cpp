// What no root reaches, compared with a model that knows who refers to whom.
#include "heap/reachability.h"
#include "heap/dead_locks.h"

#include <cstdio>
#include <map>
#include <random>
#include <set>

#include "heap/block_evacuation.h"
#include "heap/dedangling.h"
#include "heap/finalization_queue.h"
#include "heap/forwarding.h"
#include "heap/promotion.h"
#include "heap/promotion_counters.h"
#include "reachability_fixture.h"

namespace freehold::testing {
namespace {

using heap::DeleteResult;
using heap::MarkingResult;
using heap::UnreachableType;

TEST_F(ReachabilityTest, WhatRootsReachIsNotFound) {
  Object *leaf = node(), *root = node({leaf}), *lost_leaf = node(), *lost = node({lost_leaf});
  set(lost_leaf, 1, lost);  // a cycle
  add_root(root);
  EXPECT_EQ(unreachable(), (Objects{lost, lost_leaf}));
  roots.clear();
  EXPECT_EQ(unreachable(), (Objects{leaf, root, lost, lost_leaf}));
}

TEST_F(ReachabilityTest, AddressesWithinAnObjectReachIt) {
  Object *first = node(), *second = node(), *third = node(), *array = allocate(&bytes_type.table, 100);
  roots.push_back({address(first) + 8, true});
  roots.push_back({address(second) + 32, true});  // one past its end, where the next one's header is
  roots.push_back({address(array) + 17, true});
  EXPECT_EQ(unreachable(), Objects{third});
}

TEST_F(ReachabilityTest, ArraysOfAnySize) {
  for (uint32_t length : {0u, 1u, 1000u, 3'000'000u}) {
    roots.clear();
    Object *array = allocate(&references_type.table, length), *last = node();
    if (length != 0) set(array, 1 + length, last);
    add_root(array);
    EXPECT_EQ(unreachable().count(last), length == 0 ? 1u : 0u) << length;
    roots.clear();
    EXPECT_EQ(unreachable().count(array), 1u) << length;
  }
}

TEST_F(ReachabilityTest, FrozenObjectsAreRoots) {
  Object *reached = node(), *lost = node();
  uint64_t memory[] = {0, reinterpret_cast<uint64_t>(&node_type.table), 0, address(reached), 0, 0};
  frozen.emplace_back(reinterpret_cast<uint8_t*>(memory + 1), reinterpret_cast<uint8_t*>(memory + 6));
  EXPECT_EQ(unreachable(), Objects{lost});
}

TEST_F(ReachabilityTest, SecondariesLiveWithTheirPrimaries) {
  // A chain, told from its end: each round over the handles finds one link.
  std::vector<Object*> chain;
  for (int i = 0; i < 10; i++) chain.push_back(node());
  Object *kept = node(), *of_lost = node({kept}), *lost = node();
  for (size_t i = chain.size() - 1; i > 0; i--) dependents.emplace_back(chain[i - 1], chain[i]);
  dependents.emplace_back(lost, of_lost);
  dependents.emplace_back(nullptr, of_lost);  // a handle that is free
  dependents.emplace_back(chain[0], nullptr);
  EXPECT_EQ(unreachable().size(), chain.size() + 3);
  add_root(chain[0]);
  EXPECT_EQ(unreachable(), (Objects{lost, of_lost, kept}));
  // A primary that refers to itself by its secondary keeps nothing alive.
  set(of_lost, 2, lost);
  EXPECT_EQ(unreachable(), (Objects{lost, of_lost, kept}));
}

TEST_F(ReachabilityTest, DeletedObjectsReachOthersWhileTheyCanBeRead) {
  Object *leaf = node(), *deleted = node({leaf}), *neighbour = node();
  add_root(neighbour);
  add_root(deleted);
  ASSERT_EQ(heap::delete_object(deleted), DeleteResult::kDeleted);
  EXPECT_EQ(unreachable(), Objects{});
  roots.pop_back();
  EXPECT_EQ(unreachable(), Objects{leaf});
}

TEST_F(ReachabilityTest, WhatIsFoundIsDeletedOnce) {
  Object *root = node(), *lost = node(), *array = allocate(&bytes_type.table, 5'000'000);
  set(lost, 1, root);
  add_root(root);
  size_t in_use = heap::total_bytes_in_use();
  EXPECT_EQ(heap::reclaim(), 2);
  EXPECT_EQ(in_use - heap::total_bytes_in_use(), 40 + core::align_up(24 + 5'000'000, 8));
  EXPECT_TRUE(heap::is_deleted(lost));
  EXPECT_TRUE(heap::is_deleted(array));
  EXPECT_FALSE(heap::is_deleted(root));
  EXPECT_EQ(heap::reclaim(), 0);
  EXPECT_EQ(heap::reachability_counters.objects.load(), 2u);
  expect_valid("after the deletion");
}

TEST_F(ReachabilityTest, EntriesOfLocksWaitForTheirRelease) {
  constexpr uint32_t kMany = 50'000;  // more than the first step of their memory
  std::set<uint32_t> expected, taken;
  for (uint32_t i = 1; i <= kMany; i++) {
    Object* object = node();
    // A hash code is none; nor is what stays.
    bool hash = i % 3 == 0, kept = i % 1000 == 0;
    *object->sync_word() = core::kSyncIsHashOrIndex | (hash ? core::kSyncIsHash : 0) | i;
    if (kept) add_root(object);
    if (!hash && !kept) expected.insert(i);
  }
  EXPECT_EQ(heap::dead_locks(), 0u);
  EXPECT_EQ(heap::reclaim(), kMany - kMany / 1000);
  EXPECT_EQ(finalizer_requests, 1);
  EXPECT_EQ(heap::dead_locks(), expected.size());
  for (uint32_t index; (index = heap::take_dead_lock()) != 0;) EXPECT_TRUE(taken.insert(index).second);
  EXPECT_EQ(taken, expected);
  EXPECT_EQ(heap::dead_locks(), 0u);
  EXPECT_EQ(heap::reclaim(), 0);
  EXPECT_EQ(finalizer_requests, 1);
  // Behind what is left, and from the start again.
  for (uint32_t i = 1; i <= 3; i++) *node()->sync_word() = core::kSyncIsHashOrIndex | i;
  heap::reclaim();
  heap::take_dead_lock();
  *node()->sync_word() = core::kSyncIsHashOrIndex | 4;
  heap::reclaim();
  EXPECT_EQ(heap::dead_locks(), 3u);
}

TEST_F(ReachabilityTest, EachDeletionOfWhatIsUnreachableIsTold) {
  collections_begun = collections_done = collections_abandoned = 0;
  unreachable();
  EXPECT_EQ(collections_begun, 0);
  heap::reclaim();
  EXPECT_EQ(collections_begun, 1);
  EXPECT_EQ(collections_done, 1);
  can_stop = false;
  heap::reclaim();
  EXPECT_EQ(collections_begun, 2);
  EXPECT_EQ(collections_abandoned, 1);
}

TEST_F(ReachabilityTest, WhatIsNoTypeIsDeletedAndNotTold) {
  static TypeOf<core::MethodTable::kHasPointers, 40> statics = {{0, 24 - 40, 8, 1}, {core::MethodTable::kHasPointers, 40, nullptr, 0, 0, 0}};
  node({node()}, &statics.table);
  UnreachableType entries[4];
  ASSERT_EQ(heap::find_unreachable_types(entries, 4), MarkingResult::kDone);
  for (const UnreachableType& entry : entries) EXPECT_TRUE(entry.type == nullptr || entry.type == &node_type.table);
  EXPECT_EQ(heap::reclaim(), 2);
}

TEST_F(ReachabilityTest, FinalizersRunBeforeTheDeletion) {
  Object *needed = node(), *second = node({needed}, &finalizable_node_type.table), *first = node({second}, &finalizable_node_type.table);
  Object *finalized = node({node()}, &finalizable_node_type.table), *kept = node({}, &finalizable_node_type.table);
  __atomic_fetch_or(finalized->sync_word(), core::kSyncFinalizerRun, __ATOMIC_RELAXED);
  add_root(kept);
  EXPECT_EQ(unreachable().size(), 5u);
  EXPECT_EQ(heap::reclaim(), 2);
  EXPECT_TRUE(heap::is_deleted(finalized));
  // Both wait, although one reaches the other; a second marking does not queue them again, and finds nothing.
  EXPECT_EQ(finalizer_requests, 1);
  EXPECT_EQ(heap::finalizable_count(), 2u);
  EXPECT_EQ(unreachable(), Objects{});
  EXPECT_EQ(heap::reclaim(), 0);
  EXPECT_EQ(heap::finalizable_count(), 2u);
  Objects taken;
  for (int i = 0; i < 2; i++) taken.insert(reinterpret_cast<Object*>(heap::next_finalizable()));
  EXPECT_EQ(taken, (Objects{first, second}));
  EXPECT_EQ(heap::next_finalizable(), 0u);
  EXPECT_EQ(heap::finalizable_count(), 0u);
  // As the runtime's ReRegisterForFinalize does.
  __atomic_fetch_and(second->sync_word(), ~core::kSyncFinalizerRun, __ATOMIC_RELAXED);
  EXPECT_EQ(heap::reclaim(), 1);
  EXPECT_TRUE(heap::is_deleted(first));
  EXPECT_EQ(heap::next_finalizable(), address(second));
  EXPECT_EQ(heap::reclaim(), 2);
  EXPECT_TRUE(heap::is_deleted(needed));
  EXPECT_FALSE(heap::is_deleted(kept));
  expect_valid("after the deletions");
}

TEST_F(ReachabilityTest, WhatWaitsMayBeDeletedOrSuppressedMeanwhile) {
  Object *deleted = node({}, &finalizable_node_type.table), *suppressed = node({}, &finalizable_node_type.table),
         *last = node({}, &finalizable_node_type.table);
  EXPECT_EQ(heap::reclaim(), 0);
  EXPECT_EQ(heap::finalizable_count(), 3u);
  EXPECT_EQ(heap::delete_object(deleted), DeleteResult::kNeedsFinalizer);
  EXPECT_EQ(heap::delete_object(deleted), DeleteResult::kDeleted);
  __atomic_fetch_or(suppressed->sync_word(), core::kSyncFinalizerRun, __ATOMIC_RELAXED);
  EXPECT_EQ(heap::next_finalizable(), address(last));
  EXPECT_EQ(heap::next_finalizable(), 0u);
}

TEST_F(ReachabilityTest, WeakHandlesLoseWhatNoRootReaches) {
  Object *kept = node(), *lost = node(), *of_finalizable = node(), *finalizable = node({of_finalizable}, &finalizable_node_type.table);
  add_root(kept);
  weak = {address(kept), address(lost), address(finalizable), address(of_finalizable), 0};
  unreachable();
  EXPECT_EQ(weak, (std::vector<uint64_t>{address(kept), address(lost), address(finalizable), address(of_finalizable), 0}));
  EXPECT_EQ(heap::reclaim(), 1);
  EXPECT_EQ(weak, (std::vector<uint64_t>{address(kept), 0, 0, 0, 0}));
}

TEST_F(ReachabilityTest, ManyFinalizersWait) {
  constexpr size_t kMany = 20'000;  // more than one commit of the queue
  for (size_t i = 0; i < kMany; i++) node({}, &finalizable_node_type.table);
  Object* lost = node();
  // Without room they stay as they are, and all else goes.
  ASSERT_TRUE(os::inject_failures("mmap:5+"));
  EXPECT_EQ(heap::reclaim(), 1);
  ASSERT_TRUE(os::inject_failures("mmap:18446744073709551615"));
  EXPECT_TRUE(heap::is_deleted(lost));
  EXPECT_EQ(heap::finalizable_count(), 0u);
  EXPECT_EQ(heap::reclaim(), 0);
  EXPECT_EQ(heap::finalizable_count(), kMany);
  for (size_t i = 0; i < kMany; i++) ASSERT_NE(heap::next_finalizable(), 0u) << i;
  EXPECT_EQ(heap::next_finalizable(), 0u);
  EXPECT_EQ(heap::reclaim(), static_cast<int64_t>(kMany));
}

TEST_F(ReachabilityTest, TypesAreAddedUp) {
  for (int i = 0; i < 3; i++) node();
  for (int i = 0; i < 2; i++) allocate(&bytes_type.table, 100);
  allocate(&references_type.table, 2);
  UnreachableType entries[4];
  ASSERT_EQ(heap::find_unreachable_types(entries, 4), MarkingResult::kDone);
  std::map<const core::MethodTable*, std::pair<uint64_t, uint64_t>> found;
  for (const UnreachableType& entry : entries) {
    if (entry.type != nullptr) found[entry.type] = {entry.objects, entry.bytes};
  }
  EXPECT_EQ(found.size(), 3u);
  EXPECT_EQ(found[&node_type.table], (std::pair<uint64_t, uint64_t>{3, 120}));
  EXPECT_EQ(found[&bytes_type.table], (std::pair<uint64_t, uint64_t>{2, 256}));
  EXPECT_EQ(found[&references_type.table], (std::pair<uint64_t, uint64_t>{1, 40}));
  EXPECT_EQ(heap::find_unreachable_types(entries, 2), MarkingResult::kNoRoom);
}

TEST_F(ReachabilityTest, WithoutMemoryForMarksNothingIsDeleted) {
  Object *root = node({node()}), *lost = node();
  add_root(root);
  // Each reservation, and each commit: of the blocks' bits, of a block's marks, of the stack.
  for (const char* failures : {"mmap:1", "mmap:2", "mmap:3", "mprotect:1", "mprotect:2", "mprotect:3"}) {
    ASSERT_TRUE(os::inject_failures(failures));
    EXPECT_EQ(heap::reclaim(), -1) << failures;
    UnreachableType entries[4];
    ASSERT_TRUE(os::inject_failures(failures));
    EXPECT_EQ(heap::find_unreachable_types(entries, 4), MarkingResult::kNotPossible) << failures;
    ASSERT_TRUE(os::inject_failures("mmap:18446744073709551615,mprotect:18446744073709551615"));
    EXPECT_FALSE(heap::is_deleted(lost)) << failures;
  }
  EXPECT_EQ(heap::reachability_counters.abandoned.load(), 12u);
  EXPECT_EQ(heap::reclaim(), 1);
}

TEST_F(ReachabilityTest, BeforeThereIsARuntimeNothingIsFound) {
  node();
  can_stop = false;
  EXPECT_EQ(heap::reclaim(), -1);
  heap::set_root_support(nullptr);
  EXPECT_EQ(heap::reclaim(), -1);
}

TEST_F(ReachabilityTest, TheQueueOfFinalizersIsUsedAgainBeforeItIsEmpty) {
  constexpr size_t kEach = 6'000;  // together more than one commit of the queue
  std::vector<uintptr_t> objects;
  size_t taken = 0;
  for (int round = 0; round < 4; round++) {
    for (size_t i = 0; i < kEach; i++) {
      objects.push_back(address(node({}, &finalizable_node_type.table)));
      ASSERT_TRUE(heap::enqueue_finalizable(objects.back()));
    }
    for (size_t i = 0; i < kEach - 100; i++) ASSERT_EQ(heap::next_finalizable(), objects[taken++]);
    ASSERT_EQ(heap::finalizable_count(), objects.size() - taken);
    uintptr_t* expected = &objects[taken];
    heap::for_each_finalizable([](uint64_t* slot, void* expected) { EXPECT_EQ(*slot, *(*static_cast<uintptr_t**>(expected))++); }, &expected);
    EXPECT_EQ(expected, objects.data() + objects.size());
  }
  while (taken < objects.size()) ASSERT_EQ(heap::next_finalizable(), objects[taken++]);
  EXPECT_EQ(heap::next_finalizable(), 0u);
}

// Promotion copies the object that waits, while the finalizer thread asks for it.
class FinalizationQueueTest : public ReachabilityTest, public ::testing::WithParamInterface<core::Protection> {
 protected:
  void configure(core::Knobs& knobs) override {
    ReachabilityTest::configure(knobs);
    knobs.promotion = true;
    knobs.protection = GetParam();
  }
};

TEST_P(FinalizationQueueTest, WaitsForPromotion) {
  Object* object = node({}, &finalizable_node_type.table);
  while (arena_block(object) == arena_block(node())) continue;  // the block is complete
  ASSERT_TRUE(heap::enqueue_finalizable(address(object)));
  ASSERT_TRUE(heap::claim_for_evacuation(arena_block(object)) && heap::begin_evacuation(arena_block(object)));
  std::atomic<uintptr_t> next{0};
  std::thread finalizer([&] { next = heap::next_finalizable(); });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(next.load(), 0u);
  heap::give_up_evacuation(arena_block(object));
  finalizer.join();
  EXPECT_EQ(next.load(), address(object));
}

INSTANTIATE_TEST_SUITE_P(Protections, FinalizationQueueTest, ::testing::Values(core::Protection::kUserfaultfd, core::Protection::kMprotect));

// Random graphs, of which random objects are deleted and move, so that fields and roots hold names of any age.
class ReachabilityModelTest : public ReachabilityTest {
 protected:
  void configure(core::Knobs& knobs) override {
    ReachabilityTest::configure(knobs);
    knobs.promotion = true;
    knobs.stress.fault = true;  // fields keep their old names
  }
};

TEST_F(ReachabilityModelTest, RandomGraphs) {
  uint64_t seed = seed_of_run();
  printf("FREEHOLD_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
  SCOPED_TRACE("FREEHOLD_TEST_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  struct Entry {
    Object* object;
    std::vector<size_t> links;
    bool deleted;
  };
  std::vector<Entry> entries;
  auto word_of = [](const Entry& entry, size_t word) { return reinterpret_cast<uint64_t*>(current(entry.object)) + word; };
  for (int round = 0; round < 12; round++) {
    // Grows by some blocks, so that promotion has whole ones.
    for (int i = 0; i < 60'000; i++) {
      bool array = random() % 8 == 0;
      auto length = static_cast<uint32_t>(array ? random() % (random() % 500 == 0 ? 3000 : 12) : 3);
      Object* object = array ? allocate(&references_type.table, length) : node();
      entries.push_back({object, std::vector<size_t>(length, SIZE_MAX), false});
      for (size_t link = 0; link < length; link++) {
        if (random() % 3 != 0) continue;
        size_t to = random() % entries.size();
        if (entries[to].deleted) continue;
        entries.back().links[link] = to;
        *word_of(entries.back(), (array ? 2 : 1) + link) = address(entries[to].object);
      }
    }
    roots.clear();
    std::vector<size_t> reached;
    for (int i = 0; i < 200; i++) {
      size_t root = random() % entries.size();
      if (entries[root].deleted) continue;
      bool interior = random() % 2 == 0;
      roots.push_back(
          {address(entries[root].object) + (interior ? 1 + random() % (entries[root].object == current(entries[root].object) ? 16 : 8) : 0), interior});
      reached.push_back(root);
    }
    std::vector<bool> seen(entries.size());
    for (size_t root : reached) seen[root] = true;
    while (!reached.empty()) {
      size_t next = reached.back();
      reached.pop_back();
      for (size_t to : entries[next].links) {
        if (to == SIZE_MAX || seen[to]) continue;
        seen[to] = true;
        reached.push_back(to);
      }
    }
    Objects expected;
    for (size_t i = 0; i < entries.size(); i++) {
      if (!entries[i].deleted && !seen[i]) expected.insert(current(entries[i].object));
    }
    ASSERT_EQ(unreachable(), expected) << "round " << round;
    if (round % 3 == 2) {
      ASSERT_EQ(heap::reclaim(), static_cast<int64_t>(expected.size())) << "round " << round;
      for (size_t i = 0; i < entries.size(); i++) {
        if (!seen[i]) entries[i] = {entries[i].object, {}, true};
        else ASSERT_FALSE(heap::is_deleted(entries[i].object)) << "round " << round;
      }
      ASSERT_EQ(unreachable(), Objects{}) << "round " << round;
    }
    heap::promote(heap::PromotionScope::kRandom);
    expect_valid("after a round");
  }
  EXPECT_GT(heap::promotion_counters.objects.load(), 100'000u);
}

}  // namespace
}  // namespace freehold::testing
