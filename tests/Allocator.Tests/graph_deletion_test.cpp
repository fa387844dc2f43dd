// Deletion of what only one object leads to, compared with a model that knows who refers to whom.
#include "heap/graph_deletion.h"

#include <random>
#include <set>
#include <vector>

#include "heap/dead_locks.h"
#include "heap/finalization_queue.h"
#include "reachability_fixture.h"

namespace freehold::testing {
namespace {

using heap::GraphDeletion;
using heap::GraphResult;

class GraphDeletionTest : public ReachabilityTest {
 protected:
  void configure(core::Knobs&) override {}  // as programs have it

  // The place of the root is one on the caller's stack, and so a root itself.
  GraphResult remove(Object* root, GraphDeletion* result, Object* array = nullptr) {
    uint64_t place = address(root), finalizable = address(array);
    add_root(root);
    if (array != nullptr) add_root(array);
    GraphResult answer = heap::delete_graph(&place, &finalizable, result);
    if (array != nullptr) roots.pop_back();
    roots.pop_back();
    return answer;
  }
};

TEST_F(GraphDeletionTest, WhatOnlyTheRootLeadsToGoes) {
  Object *shared = node(), *inner = node(), *child = node({inner, shared}), *root = node({child, shared}), *other = node({shared}), *lost_before = node();
  set(inner, 1, root);  // a cycle
  Object* garbage = node({child});
  add_root(other);
  GraphDeletion result;
  EXPECT_EQ(remove(root, &result), GraphResult::kDeleted);
  EXPECT_EQ(result.objects, 3u);
  EXPECT_EQ(result.bytes, 3u * 40);
  for (Object* object : {root, child, inner}) EXPECT_TRUE(heap::is_deleted(object));
  for (Object* object : {shared, other, lost_before, garbage}) EXPECT_FALSE(heap::is_deleted(object));
  EXPECT_EQ(remove(root, &result), GraphResult::kGone);
  expect_valid("after the deletion");
}

TEST_F(GraphDeletionTest, TheRootGoesWhoeverRefersToIt) {
  Object *child = node(), *root = node({child}), *other = node({root});
  add_root(other);
  GraphDeletion result;
  EXPECT_EQ(remove(root, &result), GraphResult::kDeleted);
  EXPECT_EQ(result.objects, 2u);
  EXPECT_FALSE(heap::is_deleted(other));
}

TEST_F(GraphDeletionTest, SecondariesGoWithTheirPrimaries) {
  Object *of_root = node(), *root = node(), *of_second = node(), *kept = node();
  dependents = {{of_root, of_second}, {root, of_root}, {kept, of_second}};
  add_root(kept);
  GraphDeletion result;
  EXPECT_EQ(remove(root, &result), GraphResult::kDeleted);
  EXPECT_EQ(result.objects, 2u);
  EXPECT_TRUE(heap::is_deleted(of_root));
  EXPECT_FALSE(heap::is_deleted(of_second));
}

TEST_F(GraphDeletionTest, DeletedObjectsOfTheGraphLeadOn) {
  Object *leaf = node(), *gone = node({leaf}), *root = node({gone});
  add_root(node());
  ASSERT_EQ(heap::delete_object(gone), heap::DeleteResult::kDeleted);
  GraphDeletion result;
  EXPECT_EQ(remove(root, &result), GraphResult::kDeleted);
  EXPECT_EQ(result.objects, 2u);
  EXPECT_TRUE(heap::is_deleted(leaf));
}

TEST_F(GraphDeletionTest, FinalizersAreTheCallers) {
  Object *inner = node({}, &finalizable_node_type.table), *root = node({inner}, &finalizable_node_type.table), *array = allocate(&references_type.table, 1);
  weak = {address(inner), address(root), address(array)};
  GraphDeletion result;
  // Too small: as many as there is room for.
  EXPECT_EQ(remove(root, &result, array), GraphResult::kFinalizable);
  EXPECT_EQ(result.finalizable, 2u);
  EXPECT_EQ(reinterpret_cast<uint64_t*>(array)[2], address(root));
  // It was told of, and the array is a root: not in the graph any more.
  array = allocate(&references_type.table, 2);
  EXPECT_EQ(remove(root, &result, array), GraphResult::kFinalizable);
  EXPECT_EQ(reinterpret_cast<uint64_t*>(array)[3], address(inner));
  EXPECT_EQ(weak[0], 0u);
  EXPECT_EQ(weak[1], 0u);
  for (Object* object : {root, inner}) {
    EXPECT_TRUE(heap::claim_finalizer(address(object)));
    EXPECT_FALSE(heap::claim_finalizer(address(object)));
  }
  reinterpret_cast<uint64_t*>(array)[2] = reinterpret_cast<uint64_t*>(array)[3] = 0;
  EXPECT_EQ(remove(root, &result, array), GraphResult::kDeleted);
  EXPECT_EQ(result.objects, 2u);
  EXPECT_FALSE(heap::claim_finalizer(address(inner)));
  EXPECT_EQ(heap::finalizable_count(), 0u);
}

TEST_F(GraphDeletionTest, EntriesOfLocksWaitForTheirRelease) {
  Object *child = node(), *root = node({child});
  *child->sync_word() = core::kSyncIsHashOrIndex | 7;
  GraphDeletion result;
  EXPECT_EQ(remove(root, &result), GraphResult::kDeleted);
  EXPECT_EQ(heap::take_dead_lock(), 7u);
}

// Another thread may be in its lock: the caller finds out.
TEST_F(GraphDeletionTest, ARootWithALockIsLeftToTheCaller) {
  Object *child = node(), *root = node({child});
  *root->sync_word() = core::kSyncIsHashOrIndex | 7;
  GraphDeletion result;
  EXPECT_EQ(remove(root, &result), GraphResult::kDeleted);
  EXPECT_EQ(result.root_has_lock, 1u);
  EXPECT_EQ(result.objects, 2u);
  EXPECT_TRUE(heap::is_deleted(child));
  EXPECT_FALSE(heap::is_deleted(root));
  EXPECT_EQ(heap::take_dead_lock(), 0u);
  *root->sync_word() |= core::kSyncPostponed;
  EXPECT_EQ(remove(root, &result), GraphResult::kGone);
  EXPECT_FALSE(heap::is_deleted(root));
}

TEST_F(GraphDeletionTest, WithoutMemoryNothingGoes) {
  Object *child = node(), *root = node({child});
  GraphDeletion result;
  ASSERT_TRUE(os::inject_failures("mmap:1+"));
  EXPECT_EQ(remove(root, &result), GraphResult::kNotPossible);
  os::inject_failures("mmap:18446744073709551615");
  EXPECT_FALSE(heap::is_deleted(root));
  EXPECT_FALSE(heap::is_deleted(child));
  uint64_t outside = 8, none = 0;
  EXPECT_EQ(heap::delete_graph(&outside, &none, &result), GraphResult::kNotInHeap);
}

// Wherever memory ends, in the marking of roots or of the graph: the objects stay, and so does what leads to them.
TEST_F(GraphDeletionTest, WithoutMemoryWeakHandlesStay) {
  Object *child = node(), *root = node({child});
  add_root(node());
  weak = {address(root), address(child)};
  GraphDeletion result;
  int failed = 0;
  for (int call = 1;; call++) {
    ASSERT_TRUE(os::inject_failures(("mprotect:" + std::to_string(call) + "+").c_str()));
    GraphResult answer = remove(root, &result);
    os::inject_failures("mprotect:18446744073709551615");
    if (answer == GraphResult::kDeleted) break;
    ASSERT_EQ(answer, GraphResult::kNotPossible);
    failed++;
    EXPECT_EQ(weak, (std::vector<uint64_t>{address(root), address(child)})) << "call " << call;
    EXPECT_FALSE(heap::is_deleted(root));
  }
  EXPECT_GT(failed, 1);
  EXPECT_EQ(weak, (std::vector<uint64_t>{0, 0}));
}

// Random graphs: what goes is what the roots reach with the root in place and not without it, and what it leads to of what was lost before.
TEST_F(GraphDeletionTest, TheModelAgrees) {
  const char* given = getenv("FREEHOLD_TEST_SEED");
  uint64_t seed = given != nullptr ? strtoull(given, nullptr, 10) : std::random_device()();
  SCOPED_TRACE("FREEHOLD_TEST_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 100; round++) {
    roots.clear();
    std::vector<Object*> objects;
    size_t count = 2 + random() % 200;
    for (size_t i = 0; i < count; i++) objects.push_back(node());
    std::vector<std::vector<size_t>> edges(count);
    for (size_t i = 0; i < count; i++) {
      for (size_t word = 1; word <= 3; word++) {
        if (random() % 100 >= 45) continue;
        edges[i].push_back(random() % count);
        set(objects[i], word, objects[edges[i].back()]);
      }
    }
    std::set<size_t> kept;
    for (size_t i = 0; i < count / 20; i++) kept.insert(random() % count);
    for (size_t i : kept) add_root(objects[i]);
    size_t root = random() % count;
    auto reach = [&](std::set<size_t> from, std::set<size_t> not_through) {
      std::vector<size_t> stack;
      std::set<size_t> reached;
      auto add = [&](size_t i) {
        if (not_through.count(i) == 0 && reached.insert(i).second) stack.push_back(i);
      };
      for (size_t i : from) add(i);
      while (!stack.empty()) {
        size_t i = stack.back();
        stack.pop_back();
        for (size_t next : edges[i]) add(next);
      }
      return reached;
    };
    std::set<size_t> stays = reach(kept, {root}), goes = reach({root}, stays);
    GraphDeletion result;
    ASSERT_EQ(remove(objects[root], &result), GraphResult::kDeleted);
    EXPECT_EQ(result.objects, goes.size());
    for (size_t i = 0; i < count; i++) EXPECT_EQ(heap::is_deleted(objects[i]), goes.count(i) != 0) << i;
    roots.clear();
    heap::reclaim();
    if (HasFailure()) return;
  }
  expect_valid("after all rounds");
}

}  // namespace
}  // namespace freehold::testing
