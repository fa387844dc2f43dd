// What scopes note of stores: how much, for which of them, and what happens where notes have no room.
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "heap/noted_pages.h"
#include "heap/scope_notes.h"
#include "os/failure_injection.h"
#include "scopes_fixture.h"

namespace freehold::testing {
namespace {

TEST_F(ScopesTest, WithoutMemoryNoneBegins) {
  std::thread other([] {
    for (bool has_notes : {false, true}) {
      std::atomic<uint64_t>* table = heap::scope_notes.table;
      std::atomic<uint32_t>* slots = heap::scope_notes.slots;
      if (!has_notes) heap::scope_notes.table = nullptr;
      for (const char* failures : {"mmap:1,mprotect:18446744073709551615", "mmap:18446744073709551615,mprotect:1", "mmap:2,mprotect:18446744073709551615"}) {
        os::inject_failures(failures);
        EXPECT_EQ(heap::begin_scope(), 0) << failures;
        EXPECT_FALSE(heap::has_scope());
        if (!has_notes) heap::scope_notes.table = nullptr;
      }
      heap::scope_notes.table = table;
      heap::scope_notes.slots = slots;
    }
    os::inject_failures("mmap:18446744073709551615,mprotect:18446744073709551615");
    int64_t scope = heap::begin_scope();
    EXPECT_NE(scope, 0);
    EXPECT_TRUE(heap::has_scope());
    heap::leave_scope(scope);
    EXPECT_FALSE(heap::has_scope());
    heap::unregister_thread();
  });
  other.join();
}

TEST_F(ScopesTest, WhatIsLeftInTheNotesIsForTheScopesThatGoOn) {
  Object *cache = node(), *other_cache = node();
  int64_t outer = heap::begin_scope();
  Object* kept = node();
  set(cache, 0, kept);
  for (int i = 0; i < 3; i++) {
    int64_t inner = heap::begin_scope();
    Object* mine = node();
    set(other_cache, 0, mine);
    set(other_cache, 1, kept);
    EXPECT_EQ(end(inner).objects, 0u);
    expect_valid("after an inner scope");
    set(other_cache, 0, nullptr);
  }
  set(cache, 0, nullptr);
  EXPECT_EQ(end(outer).objects, 3u);
  expect_here({kept});
  // Nothing of before is noted, so what is stored again is.
  outer = heap::begin_scope();
  kept = node();
  set(cache, 0, kept);
  end(outer);
  expect_here({kept});
}

// Notes that had no room: nothing can be decided of the scopes that are open, and of the next ones again.
TEST_F(ScopesTest, WithoutRoomForNotesAllStays) {
  Object* outside = node();
  int64_t scope = heap::begin_scope();
  Object* object = node();
  heap::scope_notes.count.store(heap::ScopeNotes::kMost + 1);
  set(outside, 0, object);
  end(scope, ScopeResult::kKept);
  expect_here({object});
  scope = heap::begin_scope();
  Object *kept = node(), *garbage = node();
  set(outside, 0, kept);
  EXPECT_EQ(end(scope).objects, 1u);
  expect_here({object, kept});
  expect_gone({garbage});
}

// One that nothing can be decided of any more, as may be of one that a program forgets, costs others nothing.
TEST_F(ScopesTest, AScopeThatIsGivenUpNeedsNoNotes) {
  Object* outside = node();
  int64_t forgotten = heap::begin_scope();
  set(outside, 0, node());
  heap::scope_notes.count.store(heap::ScopeNotes::kMost + 1);
  int64_t inner = heap::begin_scope();
  end(inner, ScopeResult::kKept);
  EXPECT_FALSE(heap::is_noting_stores());
  for (int i = 0; i < 3; i++) {
    allocate(&references_type.table, 10'000);
    EXPECT_FALSE(heap::is_noting_stores());
    inner = heap::begin_scope();
    Object *kept = node(), *garbage = node();
    set(outside, 1, kept);
    expect_valid("in a scope that can be decided");
    EXPECT_EQ(end(inner).objects, 1u);
    expect_here({kept});
    expect_gone({garbage});
    size_t left = 0;
    heap::noted_since(0, &left);
    EXPECT_EQ(left, 0u);
  }
  end(forgotten, ScopeResult::kKept);
}

// What counts is the pages, however often the program stores there.
TEST_F(ScopesTest, StoresToTheSamePagesAreNotedOnce) {
  constexpr size_t kArrays = 200;
  std::vector<Object*> arrays;
  for (size_t i = 0; i < kArrays; i++) arrays.push_back(allocate(&references_type.table, 1'000));
  int64_t scope = heap::begin_scope();
  Object *kept = node(), *garbage = node();
  for (size_t i = 0; i < 2 * heap::ScopeNotes::kMost; i++) set(arrays[i % kArrays], 5, kept);
  EXPECT_LE(heap::scope_notes.count.load(), kArrays);
  expect_valid("after many stores");
  EXPECT_EQ(end(scope).objects, 1u);
  expect_here({kept});
  expect_gone({garbage});
}

// A scope in a scope looks at what was noted since it began, however much there was before.
TEST_F(ScopesTest, AnInnerScopeDoesNotLookAtOlderNotes) {
  constexpr size_t kArrays = 300;
  std::vector<Object*> arrays;
  for (size_t i = 0; i < kArrays; i++) arrays.push_back(allocate(&references_type.table, 1'000));
  int64_t outer = heap::begin_scope();
  Object* kept = node();
  for (Object* array : arrays) set(array, 5, kept);
  for (int i = 0; i < 3; i++) {
    uint64_t before = heap::noted_age();
    int64_t inner = heap::begin_scope();
    Object *mine = node(), *garbage = node();
    set(arrays[0], 6, mine);
    set(arrays[1], 6, mine);
    set(arrays[1], 6, nullptr);
    expect_valid("in the inner scope");
    EXPECT_EQ(end(inner).objects, 1u);
    expect_gone({garbage});
    expect_here({mine});
    size_t looked_at = 0;
    heap::noted_since(i == 0 ? before + 1 : before, &looked_at);
    EXPECT_LE(looked_at, 2u);
    set(arrays[0], 6, nullptr);
  }
  for (Object* array : arrays) set(array, 5, nullptr);
  set(arrays[kArrays - 1], 7, kept);
  EXPECT_EQ(end(outer).objects, 3u);
  expect_here({kept});
  size_t left = 0;
  heap::noted_since(0, &left);
  EXPECT_EQ(left, 0u);
}

// Any pages, many of which meet at one place of the table: each is noted, once.
TEST_F(ScopesTest, PagesThatMeetInTheTableAreNotedEach) {
  constexpr size_t kPages = 200'000;
  int64_t scope = heap::begin_scope();
  std::mt19937_64 random(1);
  std::set<uint64_t> pages;
  while (pages.size() < kPages) pages.insert(random() >> 12 | 1);
  size_t before = heap::scope_notes.count.load();
  for (int again = 0; again < 2; again++) {
    for (uint64_t page : pages) heap::note_scope_pages(page * core::kPageSize, 1);
    EXPECT_EQ(heap::scope_notes.count.load() - before, kPages);
  }
  heap::scope_notes.count.store(heap::ScopeNotes::kMost + 1);  // nobody is to look there
  heap::leave_scope(scope);
}

// So many notes that taking them over needs more memory: wherever that ends, what is kept outside stays.
TEST_F(ScopesTest, WithoutMemoryForWhatWasNotedAllStays) {
  constexpr size_t kPages = 5'000, kWords = core::kPageSize / sizeof(uint64_t);
  Object* outside = allocate(&references_type.table, kPages * kWords);
  int kept_scopes = 0;
  for (int call = 1;; call++) {
    int64_t scope = heap::begin_scope();
    ASSERT_NE(scope, 0);
    Object *kept = node(), *garbage = node();
    for (size_t page = 0; page < kPages; page++) set(outside, 1 + page * kWords, kept);
    ASSERT_TRUE(os::inject_failures(("mprotect:" + std::to_string(call) + "+").c_str()));
    ScopeDeletion result;
    uint64_t none = 0;
    ScopeResult answer = heap::end_scope(scope, &none, &result);
    os::inject_failures("mprotect:18446744073709551615");
    expect_here({kept});
    if (answer == ScopeResult::kDeleted) {
      expect_gone({garbage});
      break;
    }
    ASSERT_EQ(answer, ScopeResult::kKept);
    heap::leave_scope(scope);
    expect_here({garbage});
    kept_scopes++;
  }
  EXPECT_GT(kept_scopes, 1);
}

}  // namespace
}  // namespace freehold::testing
