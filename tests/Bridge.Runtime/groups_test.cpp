// Groups of a heap profile in the heap: where their objects lie, whose chunks are, and what moves do with them.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <random>
#include <thread>
#include <vector>

#include "compiled.h"
#include "os.h"

extern "C" thread_local uint64_t __freehold_group_state __attribute__((tls_model("initial-exec")));

namespace freehold::bridge::test {
namespace {

// What compiled code does around an allocation.
void* allocate(uint32_t group, size_t size) {
  uint64_t before = __freehold_group_state;
  __freehold_group_state = before | uint64_t{group} << 56;
  void* made = __freehold_malloc(size);
  __freehold_group_state = before;
  return made;
}

uintptr_t place(void* pointer) { return reinterpret_cast<uintptr_t>(at(pointer)); }
uint32_t group_at(uintptr_t address) {
  Span* span = heap.spans().span_at(address);
  return span->kind == SpanKind::kGroup ? reinterpret_cast<GroupChunk*>(heap.spans().start_of(span))->group() : 0;
}
size_t count_chunks() {
  size_t chunks = 0;
  for (size_t unit = 1; unit < heap.spans().frontier(); unit++) chunks += heap.spans().numbered(static_cast<uint32_t>(unit))->kind == SpanKind::kGroup;
  return chunks;
}
void expect_right() {
  Thread& thread = threads::current();
  threads::leave(thread);
  threads::stop();
  const char* wrong = heap.verify();
  threads::resume();
  threads::enter(thread);
  EXPECT_STREQ(wrong, nullptr);
}

// What this thread and the last moves have left goes back: other tests look at how much memory the heap has.
void give_back_chunks() {
  Compiled compiled;
  Thread& thread = threads::current();
  heap.empty(thread.cache);
  threads::leave(thread);
  threads::stop();
  for (uint32_t next = 0; heap.compact_groups(UINT64_MAX, &next);) {}
  threads::resume();
  threads::enter(thread);
}
class Groups : public ::testing::Test {
 protected:
  ~Groups() override {
    give_back_chunks();
    EXPECT_EQ(count_chunks(), 0u) << "all its objects were freed";
  }
};
using GroupsDeathTest = Groups;

TEST(GroupChunk, FindsWhatTheModelFinds) {
  void* memory = aligned_alloc(kUnit, kChunk);
  for (uint64_t seed = 0; seed < 5; seed++) {
    memset(memory, static_cast<int>(seed * 77), kChunk);
    auto* chunk = static_cast<GroupChunk*>(memory);
    chunk->initialize(3);
    EXPECT_EQ(chunk->group(), 3u);
    std::mt19937_64 random(seed);
    struct Object {
      size_t size;
      uint32_t id;
    };
    std::map<uintptr_t, Object> all, live;
    size_t largest = seed == 0 ? kLargestGrouped : seed == 1 ? 16 : 400, bytes = 0;
    uint32_t id = 0;
    while (true) {
      size_t size = 1 + random() % largest;
      void* start = chunk->allocate(++id, size);
      if (start == nullptr) break;
      size = (size + 15) & ~size_t{15};
      auto address = reinterpret_cast<uintptr_t>(start);
      ASSERT_EQ(address % 16, 0u);
      if (!all.empty()) {
        ASSERT_EQ(all.rbegin()->first + all.rbegin()->second.size, address) << "one behind the other";
      }
      all[address] = live[address] = {size, id};
      bytes += size;
      if (random() % 3 == 0) {
        auto victim = live.lower_bound(address - random() % 5000);
        if (victim == live.end()) continue;
        bytes -= victim->second.size;
        EXPECT_EQ(chunk->free(reinterpret_cast<void*>(victim->first), victim->second.size), live.size() == 1);
        live.erase(victim);
      }
    }
    EXPECT_GT(all.size(), kChunk / (largest + 20));
    EXPECT_EQ(chunk->live_objects(), live.size());
    EXPECT_EQ(chunk->live_bytes(), bytes);
    for (int i = 0; i < 20000; i++) {
      uintptr_t address = reinterpret_cast<uintptr_t>(memory) + random() % kChunk;
      void* start;
      size_t size;
      uint32_t found = chunk->find(address, &start, &size);
      auto holder = live.upper_bound(address);
      bool is_in = holder != live.begin() && address < std::prev(holder)->first + std::prev(holder)->second.size;
      ASSERT_EQ(found, is_in ? std::prev(holder)->second.id : 0);
      ASSERT_NE(start, nullptr);
      if (is_in) {
        ASSERT_EQ(reinterpret_cast<uintptr_t>(start), std::prev(holder)->first);
        ASSERT_EQ(size, std::prev(holder)->second.size);
      }
    }
    EXPECT_FALSE(chunk->reset_if_empty());
    for (auto& [address, object] : live) chunk->free(reinterpret_cast<void*>(address), object.size);
    EXPECT_TRUE(chunk->reset_if_empty());
    EXPECT_EQ(chunk->live_objects(), 0u);
  }
  free(memory);
}

TEST_F(Groups, LieTogetherInTheOrderOfTheirAllocation) {
  Compiled compiled;
  std::vector<void*> first, second, others;
  for (int i = 0; i < 1000; i++) {
    first.push_back(allocate(1, 24));
    second.push_back(allocate(2, 40));
    others.push_back(allocate(0, 24));
  }
  for (size_t i = 0; i < first.size(); i++) {
    ASSERT_EQ(group_at(place(first[i])), 1u);
    ASSERT_EQ(group_at(place(second[i])), 2u);
    ASSERT_EQ(group_at(place(others[i])), 0u);
    if (i == 0) continue;
    ASSERT_EQ(place(first[i]) - place(first[i - 1]), 32u);
    ASSERT_EQ(place(second[i]) - place(second[i - 1]), 48u);
  }
  expect_right();
  for (auto* all : {&first, &second, &others}) {
    for (void* one : *all) __freehold_free(one);
  }
  expect_right();
}

// Ids that were never used come in a row: entries of the table are side by side as the objects are. In a process of its own, where none was used.
TEST_F(GroupsDeathTest, HaveIdsSideBySide) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        Compiled compiled;
        std::vector<uint32_t> ids;
        for (int i = 0; i < 1000; i++) {
          ids.push_back(id(allocate(4, 24)));
          for (int k = 0; k < 3; k++) allocate(0, 24);
        }
        size_t beside = 0;
        for (size_t i = 1; i < ids.size(); i++) beside += ids[i] + 1 == ids[i - 1] || ids[i] == ids[i - 1] + 1;
        // One in each sixteen begins anew.
        exit(beside >= ids.size() * 9 / 10 ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST_F(Groups, LargeAndAlignedObjectsStayOut) {
  Compiled compiled;
  void* largest = allocate(1, kLargestGrouped);
  void* large = allocate(1, kLargestGrouped + 1);
  __freehold_group_state = uint64_t{1} << 56;
  void* aligned = __freehold_aligned_alloc(64, 32);
  // A number that no file has.
  __freehold_group_state = uint64_t{200} << 56;
  void* none = __freehold_malloc(32);
  __freehold_group_state = 0;
  EXPECT_EQ(group_at(place(largest)), 1u);
  EXPECT_EQ(group_at(place(large)), 0u);
  EXPECT_EQ(group_at(place(aligned)), 0u);
  EXPECT_EQ(place(aligned) % 64, 0u);
  EXPECT_EQ(group_at(place(none)), 0u);
  for (void* one : {largest, large, aligned, none}) __freehold_free(one);
}

TEST_F(Groups, CallocIsZeroAndReallocKeepsTheContents) {
  Compiled compiled;
  for (int round = 0; round < 3; round++) {
    std::vector<void*> all;
    for (int i = 0; i < 50000; i++) {
      __freehold_group_state = uint64_t{5} << 56;
      all.push_back(__freehold_calloc(1, 40));
      __freehold_group_state = 0;
      for (int byte = 0; byte < 40; byte++) ASSERT_EQ(at(all.back())[byte], 0);
      memset(at(all.back()), 7, 40);
    }
    void* grown = __freehold_realloc(all.back(), 4000);
    all.pop_back();
    for (int byte = 0; byte < 40; byte++) ASSERT_EQ(at(grown)[byte], 7);
    __freehold_free(grown);
    for (void* one : all) __freehold_free(one);
  }
  expect_right();
}

// Chunks that are empty are used again: a program that allocates and frees does not grow.
TEST_F(Groups, ChunksAreUsedAgain) {
  Compiled compiled;
  size_t before = 0;
  for (int round = 0; round < 6; round++) {
    std::vector<void*> all;
    for (int i = 0; i < 100000; i++) all.push_back(allocate(7, 64));
    if (round == 1) before = count_chunks();
    if (round > 1) {
      EXPECT_LE(count_chunks(), before);
    }
    for (void* one : all) __freehold_free(one);
  }
  EXPECT_LE(count_chunks() + 5, before);
}

TEST_F(GroupsDeathTest, FreesThatAreNoneAreReported) {
  Compiled compiled;
  void* made = allocate(1, 64);
  EXPECT_DEATH(__freehold_free(static_cast<uint8_t*>(made) + 16), "free of a pointer into an object");
  __freehold_free(made);
  EXPECT_DEATH(__freehold_free(made), "double free");
}

TEST_F(Groups, MoveWithinTheirGroup) {
  Compiled compiled;
  std::vector<void*> all;
  for (int i = 0; i < 3000; i++) {
    all.push_back(allocate(static_cast<uint32_t>(1 + i % 3), static_cast<size_t>(16 + i % 500)));
    memset(at(all.back()), i, 16);
  }
  void* pinned = all[1500];
  uintptr_t pinned_at = place(pinned);
  for (int round = 0; round < 5; round++) {
    std::vector<uintptr_t> before;
    for (void* one : all) before.push_back(place(one));
    move_everything(pinned);
    for (size_t i = 0; i < all.size(); i++) {
      ASSERT_EQ(group_at(place(all[i])), 1 + i % 3);
      if (all[i] != pinned) {
        ASSERT_NE(place(all[i]), before[i]);
      }
      for (int byte = 0; byte < 16; byte++) ASSERT_EQ(at(all[i])[byte], static_cast<uint8_t>(i));
    }
    EXPECT_EQ(place(pinned), pinned_at);
  }
  for (void* one : all) __freehold_free(one);
  expect_right();
}

TEST_F(Groups, TheDefragmenterMakesSparseChunksFewAndKeepsTheOrder) {
  Compiled compiled;
  constexpr size_t kObjects = 300000;
  std::vector<void*> all;
  for (size_t i = 0; i < kObjects; i++) {
    all.push_back(allocate(static_cast<uint32_t>(1 + i % 2), 48));
    *at<size_t>(all.back()) = i;
  }
  size_t before = count_chunks();
  EXPECT_GE(before, kObjects * 48 >> 20);
  for (size_t i = 0; i < kObjects; i++) {
    if (i / 2 % 10 != 0) __freehold_free(all[i]);
  }
  Thread& thread = threads::current();
  threads::leave(thread);
  Bounds bounds;
  bounds.overhead = 0.9;
  EXPECT_GT(defragmenter.run_round(bounds), size_t{8} << 20);
  // Chunks that it began with may have been sparse themselves; soon there is nothing more to gain.
  size_t moved = 0;
  for (int rounds = 0; moved != heap.figures().moved_objects; rounds++) {
    ASSERT_LT(rounds, 5);
    moved = heap.figures().moved_objects;
    defragmenter.run_round(bounds);
  }
  threads::enter(thread);
  EXPECT_LE(count_chunks(), before / 10 + 6);
  size_t beside = 0;
  for (size_t i = 0; i < kObjects; i++) {
    if (i / 2 % 10 != 0) continue;
    ASSERT_EQ(*at<size_t>(all[i]), i);
    ASSERT_EQ(group_at(place(all[i])), 1 + i % 2);
    if (i >= 20) beside += place(all[i]) - place(all[i - 20]) == 48;
  }
  EXPECT_GT(beside, kObjects / 10 * 8 / 10) << "neighbours stay neighbours";
  expect_right();
  for (size_t i = 0; i < kObjects; i++) {
    if (i / 2 % 10 == 0) __freehold_free(all[i]);
  }
}

// In stops whose time is up after a few objects, and of which most gain nothing: a round goes on from where it was, and has an end.
TEST_F(Groups, ARoundEndsWhereObjectsArePinnedForEver) {
  Compiled compiled;
  std::vector<void*> all;
  for (int i = 0; i < 80000; i++) all.push_back(allocate(1, 48));
  for (size_t i = 0; i < all.size(); i++) {
    if (i % 10 != 0) __freehold_free(all[i]);
    else if (i < all.size() / 2) table.pin(HandleTable::id_of(reinterpret_cast<uint64_t>(all[i])), HandleTable::kForever);
  }
  Thread& thread = threads::current();
  heap.empty(thread.cache);
  uintptr_t last = place(all[all.size() - 10]);
  threads::leave(thread);
  threads::stop();
  int stops = 0;
  for (uint32_t next = 0; stops < 2000 && heap.compact_groups(0, &next);) stops++;
  threads::resume();
  threads::enter(thread);
  EXPECT_GT(stops, 1);
  EXPECT_LT(stops, 2000);
  EXPECT_NE(place(all[all.size() - 10]), last) << "objects behind those that are pinned have moved";
  expect_right();
  for (size_t i = 0; i < all.size(); i += 10) __freehold_free(all[i]);
}

// Threads allocate in chunks of their own, and free what others have allocated; what a thread leaves behind the next one fills.
TEST_F(Groups, ThreadsFreeWhatOthersHaveAllocated) {
  constexpr int kThreads = 4, kEach = 30000;
  for (int round = 0; round < 3; round++) {
    std::vector<void*> all[kThreads];
    std::atomic<int> ready{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; t++) {
      threads.emplace_back([&, t] {
        Compiled compiled;
        for (int i = 0; i < kEach; i++) {
          all[t].push_back(allocate(static_cast<uint32_t>(1 + i % 3), static_cast<size_t>(16 + i % 100)));
          *at<int>(all[t].back()) = i;
        }
        ready++;
        while (ready < kThreads) poll();
        for (int i = 0; i < kEach; i++) {
          void* one = all[(t + 1) % kThreads][static_cast<size_t>(i)];
          if (*at<int>(one) != i) abort();
          __freehold_free(one);
        }
      });
    }
    for (auto& thread : threads) thread.join();
  }
  Compiled compiled;
  expect_right();
}

}  // namespace
}  // namespace freehold::bridge::test
