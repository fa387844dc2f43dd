// Scopes: what a thread has allocated in one and nothing outside leads to is deleted at its end, compared with a model that knows who refers to whom.
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "heap/cards.h"
#include "heap/dead_locks.h"
#include "heap/dedangling.h"
#include "heap/finalization_queue.h"
#include "heap/promotion.h"
#include "heap/scope_notes.h"
#include "os/failure_injection.h"
#include "runtime/memory_moves.h"
#include "scopes_fixture.h"

namespace freehold::testing {
namespace {

// Memory with objects that are not the arena's.
alignas(core::kPageSize) uint64_t outside_memory[core::kPageSize / sizeof(uint64_t)];

TEST_F(ScopesTest, WhatNothingOutsideLeadsToGoes) {
  Object *before = node(), *garbage_before = node();
  int64_t scope = heap::begin_scope();
  Object *held = node(), *kept = node({held}), *inner = node(), *garbage = node({inner, before}), *large = allocate(&references_type.table, 10'000),
         *huge = allocate(&references_type.table, 1'000'000);
  set(inner, 1, garbage);  // a cycle
  set(before, 2, kept);
  RhpAssignRef(fields(large) + 5, garbage);
  RhpAssignRef(fields(huge) + 5, large);
  add_root(before);
  expect_valid("in the scope");
  EXPECT_EQ(end(scope).objects, 4u);
  expect_gone({inner, garbage, large, huge});
  expect_here({before, garbage_before, held, kept});
  EXPECT_FALSE(heap::is_noting_stores());
  EXPECT_EQ(freehold_barrier.look_from, UINT64_MAX);
  end(scope, ScopeResult::kGone);
  expect_valid("after the scope");
}

TEST_F(ScopesTest, EachWayToStoreIsSeen) {
  Object* outside = node();
  Object* huge = allocate(&references_type.table, 1'000'000);
  Object* array = allocate(&references_type.table, 9'000);
  uint64_t* places[] = {fields(outside) + 1, fields(huge) + 900'000, fields(array) + 8'000, outside_memory + 17};
  for (auto store : kStores) {
    for (uint64_t* place : places) {
      int64_t scope = heap::begin_scope();
      Object *held = node(), *kept = node({held}), *garbage = node({kept});
      Object* large = allocate(&references_type.table, 9'000);
      store(place, kept);
      EXPECT_EQ(*place, address(kept));
      // Into what lies in the scope, but not in its chunk.
      store(fields(large) + 8'000, garbage);
      expect_valid("in the scope");
      EXPECT_EQ(end(scope).objects, 2u);
      expect_gone({garbage, large});
      expect_here({held, kept});
      store(place, nullptr);
    }
  }
}

TEST_F(ScopesTest, RootsAndWhatHangsOnHandles) {
  Object* outside = node();
  int64_t scope = heap::begin_scope();
  Object *root = node(), *of_outside = node(), *of_of_outside = node(), *of_garbage = node(), *garbage = node(),
         *queued = node({}, &finalizable_node_type.table);
  add_root(root);
  dependents = {{of_outside, of_of_outside}, {outside, of_outside}, {garbage, of_garbage}, {nullptr, of_garbage}};
  weak = {address(root), address(garbage), address(of_garbage), address(outside), 0, 8};
  ASSERT_TRUE(heap::enqueue_finalizable(address(queued)));
  EXPECT_EQ(end(scope).objects, 2u);
  expect_gone({garbage, of_garbage});
  expect_here({root, of_outside, of_of_outside, queued});
  EXPECT_EQ(weak, (std::vector<uint64_t>{address(root), 0, 0, address(outside), 0, 8}));
}

TEST_F(ScopesTest, AnInnerScopeLeavesWhatTheOuterOneHas) {
  int64_t outer = heap::begin_scope();
  Object *first = node(), *lost = node();
  int64_t inner = heap::begin_scope();
  Object *second = node(), *garbage = node({first});
  set(first, 0, second);
  expect_valid("in the inner scope");
  EXPECT_EQ(end(inner).objects, 1u);
  expect_gone({garbage});
  expect_here({first, second, lost});
  Object* third = node({second});
  expect_valid("after the inner scope");
  add_root(third);
  EXPECT_EQ(end(outer).objects, 2u);
  expect_gone({first, lost});
  expect_here({second, third});
}

// FREEHOLD_VERIFY marks the whole heap at the end of a scope. What it finds lost is here what a store without a barrier hides.
TEST_F(ScopesTest, TheCheckFindsWhatIsLost) {
  core::knobs.verify = true;
  Object* before = node();
  add_root(before);
  int64_t scope = heap::begin_scope();
  Object *kept = node(), *garbage = node({kept});
  set(before, 0, kept);
  EXPECT_EQ(end(scope).objects, 1u);
  expect_gone({garbage});
  expect_here({kept});
  scope = heap::begin_scope();
  fields(before)[1] = address(node());
  EXPECT_DEATH(end(scope), "the end of a scope has lost an object");
  heap::leave_scope(scope);
}

TEST_F(ScopesTest, TheOuterOneEndsTheInnerOnes) {
  int64_t outer = heap::begin_scope();
  node();
  int64_t inner = heap::begin_scope();
  Object* object = node();
  EXPECT_EQ(end(outer).objects, 2u);
  end(inner, ScopeResult::kGone);
  expect_gone({object});
  // Its number is nobody's again.
  int64_t next = heap::begin_scope();
  EXPECT_NE(next, outer);
  end(outer, ScopeResult::kGone);
  heap::leave_scope(inner);
  object = node();
  EXPECT_EQ(end(next).objects, 1u);
}

TEST_F(ScopesTest, WithoutDeletionAllStays) {
  int64_t outer = heap::begin_scope(), inner = heap::begin_scope();
  Object* object = node();
  heap::leave_scope(inner);
  expect_here({object});
  EXPECT_EQ(end(outer).objects, 1u);
  int64_t scope = heap::begin_scope();
  object = node();
  heap::leave_scope(scope);
  end(scope, ScopeResult::kGone);
  expect_here({object});
}

TEST_F(ScopesTest, TooManyInEachOther) {
  std::vector<int64_t> scopes;
  int64_t scope;
  while ((scope = heap::begin_scope()) != 0) {
    scopes.push_back(scope);
    node();
  }
  EXPECT_EQ(scopes.size(), 64u);
  node();
  EXPECT_EQ(end(scopes[32]).objects, 33u);
  EXPECT_EQ(end(scopes[0]).objects, 32u);
}

TEST_F(ScopesTest, FinalizersAreTheCallers) {
  Object* outside = node();
  int64_t scope = heap::begin_scope();
  Object *inner = node(), *object = node({inner}, &finalizable_node_type.table), *other = node({}, &finalizable_node_type.table);
  set(outside, 0, node());
  weak = {address(object), address(inner)};
  EXPECT_EQ(end(scope, ScopeResult::kFinalizable).finalizable, 2u);
  EXPECT_EQ(weak, (std::vector<uint64_t>{0, 0}));
  Object* array = allocate(&references_type.table, 1);
  add_root(array);
  uint64_t place = address(array);
  ScopeDeletion result;
  EXPECT_EQ(heap::end_scope(scope, &place, &result), ScopeResult::kFinalizable);
  EXPECT_EQ(reinterpret_cast<uint64_t*>(array)[2], address(object));
  reinterpret_cast<uint64_t*>(array)[2] = 0;
  expect_here({object, inner, other});
  for (Object* each : {object, other}) EXPECT_TRUE(heap::claim_finalizer(address(each)));
  // One has stored the other's part outside.
  set(outside, 1, inner);
  expect_valid("before the second search");
  EXPECT_EQ(heap::end_scope(scope, &place, &result), ScopeResult::kDeleted);
  EXPECT_EQ(result.objects, 2u);
  expect_gone({object, other});
  expect_here({inner, array});
}

TEST_F(ScopesTest, EntriesOfLocksWaitForTheirRelease) {
  int64_t scope = heap::begin_scope();
  Object* object = node();
  *object->sync_word() = core::kSyncIsHashOrIndex | 7;
  EXPECT_EQ(end(scope).objects, 1u);
  EXPECT_EQ(heap::take_dead_lock(), 7u);
}

TEST_F(ScopesTest, DeletedObjectsAreNotDeletedAgainAndLeadOn) {
  Object* outside = node();
  int64_t scope = heap::begin_scope();
  Object *leaf = node(), *gone = node({leaf}), *garbage = node();
  set(outside, 0, gone);
  ASSERT_EQ(heap::delete_object(gone), heap::DeleteResult::kDeleted);
  EXPECT_EQ(end(scope).objects, 1u);
  expect_gone({gone, garbage});
  expect_here({leaf});
}

TEST_F(ScopesTest, WithoutMemoryAllStays) {
  node();
  ASSERT_TRUE(os::inject_failures("mmap:1+"));
  EXPECT_EQ(heap::begin_scope(), 0);
  os::inject_failures("mmap:18446744073709551615");
  int failed = 0;
  for (const char* call_name : {"mmap", "mprotect"}) {
    for (int call = 1;; call++) {
      Object* outside = node();
      int64_t scope = heap::begin_scope();
      Object *kept = node(), *garbage = node();
      set(outside, 0, kept);
      ScopeDeletion result;
      uint64_t none = 0;
      ASSERT_TRUE(os::inject_failures((std::string(call_name) + ":" + std::to_string(call) + "+").c_str()));
      ScopeResult answer = heap::end_scope(scope, &none, &result);
      os::inject_failures((std::string(call_name) + ":18446744073709551615").c_str());
      expect_here({kept});
      if (answer == ScopeResult::kDeleted) break;
      ASSERT_EQ(answer, ScopeResult::kKept);
      heap::leave_scope(scope);
      expect_here({garbage});
      failed++;
    }
  }
  EXPECT_GT(failed, 2);
}

// Another thread that has come to an object of the scope, by a field outside, may keep what hangs on it.
TEST_F(ScopesTest, OtherThreadsKeepWhatTheyStore) {
  Object *mailbox = node(), *theirs = node();
  int64_t scope = heap::begin_scope();
  Object *leaf = node(), *middle = node({leaf}), *top = node({middle});
  set(mailbox, 0, top);
  std::thread([&] {
    heap::AllocationContext context = {};
    int64_t other = heap::begin_scope();
    Object* own = allocate_with(&context, &node_type.table);
    Object* lost = allocate_with(&context, &node_type.table);
    RhpAssignRef(fields(theirs), leaf);
    RhpAssignRef(fields(own), middle);
    RhpAssignRef(fields(theirs) + 1, own);
    expect_valid("in both scopes");
    EXPECT_EQ(end(other).objects, 1u);
    expect_gone({lost});
    expect_here({own});
    heap::retire(&context);
  }).join();
  set(mailbox, 0, nullptr);
  expect_valid("in the scope");
  EXPECT_EQ(end(scope).objects, 1u);
  expect_gone({top});
  expect_here({leaf, middle});
}

TEST_F(ScopesTest, AThreadThatEndsClosesItsScopes) {
  Object* object = nullptr;
  std::thread([&] {
    heap::AllocationContext context = {};
    heap::begin_scope();
    object = allocate_with(&context, &node_type.table);
    EXPECT_TRUE(heap::is_noting_stores());
    heap::retire(&context);
  }).join();
  EXPECT_FALSE(heap::is_noting_stores());
  expect_here({object});
}

class PromotedScopesTest : public ScopesTest {
 protected:
  void configure(core::Knobs& knobs) override { knobs.promotion = true; }

  static Object* now(Object* object) { return reinterpret_cast<Object*>(heap::current_address(address(object))); }
  void fill() {
    for (size_t done = 0; done < 2 * core::kBlockSize; done += 40) allocate(&node_type.table);
  }
};

// What moves while a scope is open takes its references to a page that nobody has stored to.
TEST_F(PromotedScopesTest, CopiesAreNoted) {
  fill();  // from here on it takes whole blocks
  Object* outside = node();
  for (int round = 0; round < 4; round++) {
    fill();
    int64_t scope = heap::begin_scope();
    Object *held = node(), *kept = node({held}), *garbage = node({kept});
    set(now(outside), 0, kept);
    Object* place = now(outside);
    EXPECT_GT(heap::promote(heap::PromotionScope::kAll), 0u);
    ASSERT_NE(now(outside), place);
    ASSERT_EQ(now(kept), kept);
    expect_valid("after a round");
    EXPECT_GE(end(scope).objects, 1u);
    expect_gone({garbage});
    expect_here({held, kept});
    EXPECT_EQ(fields(kept)[0], address(held));
    expect_valid("after the scope");
  }
}

// What has moved out of a scope stays, with what it leads to.
TEST_F(PromotedScopesTest, WhatMovesOutStays) {
  fill();
  int64_t scope = heap::begin_scope();
  Object *inner = node(), *object = node({inner});
  fill();
  EXPECT_GT(heap::promote(heap::PromotionScope::kAll), 0u);
  ASSERT_NE(now(object), object);
  Object *last = node(), *lost = node({last});
  set(now(object), 1, last);
  expect_valid("after a round");
  end(scope);
  expect_gone({lost});
  expect_here({now(inner), now(object), last});
  expect_valid("after the scope");
}

// Random graphs over several scopes in each other, small and large objects, fields stored in each way: what goes is what neither roots nor objects outside lead to.
TEST_F(ScopesTest, TheModelAgrees) {
  const char* given = getenv("FREEHOLD_TEST_SEED");
  uint64_t seed = given != nullptr ? strtoull(given, nullptr, 10) : std::random_device()();
  SCOPED_TRACE("FREEHOLD_TEST_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  struct Item {
    Object* object;
    size_t words;
    size_t level;
    std::vector<size_t> fields;  // 0, or an index + 1
    bool alive = true;
  };
  for (int round = 0; round < 30; round++) {
    roots.clear();
    std::vector<Item> items;
    std::vector<int64_t> scopes;
    for (int step = 0; step < 2'000; step++) {
      size_t choice = random() % 100;
      if (choice < 2 && scopes.size() < 5) {
        scopes.push_back(heap::begin_scope());
        ASSERT_NE(scopes.back(), 0);
      } else if (choice < 4 && !scopes.empty()) {
        size_t level = scopes.size() - 1 - (random() % 4 == 0 ? random() % scopes.size() : 0);
        std::vector<size_t> stack;
        std::set<size_t> reached;
        auto reach = [&](size_t i) {
          if (reached.insert(i).second) stack.push_back(i);
        };
        for (size_t i = 0; i < items.size(); i++) {
          if (items[i].level <= level) reach(i);
          for (const Root& root : roots) {
            if (root.address == address(items[i].object)) reach(i);
          }
        }
        while (!stack.empty()) {
          size_t i = stack.back();
          stack.pop_back();
          for (size_t field : items[i].fields) {
            if (field != 0) reach(field - 1);
          }
        }
        size_t goes = 0;
        for (size_t i = 0; i < items.size(); i++) goes += items[i].alive && reached.count(i) == 0 ? 1 : 0;
        EXPECT_EQ(end(scopes[level]).objects, goes);
        for (size_t i = 0; i < items.size(); i++) {
          items[i].alive = items[i].alive && reached.count(i) != 0;
          EXPECT_EQ(heap::is_deleted(items[i].object), !items[i].alive) << i;
          items[i].level = std::min(items[i].level, level);
        }
        scopes.resize(level);
      } else if (choice < 30 || items.empty()) {
        size_t kind = random() % 40, words = kind == 0 ? 200'000 : kind < 3 ? 6'000 : kind < 8 ? 400 : 3;
        Object* object = words == 3 ? allocate(&node_type.table) : allocate(&references_type.table, static_cast<uint32_t>(words));
        items.push_back({object, words, scopes.size(), std::vector<size_t>(words == 3 ? 3 : 8)});
      } else if (choice < 32) {
        size_t i = random() % items.size();
        if (items[i].alive && roots.size() < 20) add_root(items[i].object);
      } else if (choice < 34 && !roots.empty()) {
        roots.erase(roots.begin() + static_cast<ptrdiff_t>(random() % roots.size()));
      } else {
        size_t from = random() % items.size(), to = random() % items.size(), field = random() % items[from].fields.size();
        if (!items[from].alive || !items[to].alive) continue;
        bool clears = random() % 4 == 0;
        size_t word = items[from].words == 3 ? field : 1 + field * (items[from].words / 8);
        kStores[random() % std::size(kStores)](fields(items[from].object) + word, clears ? nullptr : items[to].object);
        items[from].fields[field] = clears ? 0 : to + 1;
      }
      if (step % 500 == 0) expect_valid("in a round");
      if (HasFailure()) return;
    }
    if (!scopes.empty()) heap::leave_scope(scopes[0]);
    roots.clear();
    heap::reclaim();
  }
  expect_valid("after all rounds");
}

}  // namespace
}  // namespace freehold::testing
