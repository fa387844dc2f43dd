#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <random>
#include <thread>
#include <vector>

#include "compiled.h"
#include "evacuation.h"
#include "objects.h"
#include "os.h"

namespace freehold::bridge::test {
namespace {

TEST(SizeClasses, EverySizeHasTheSmallestClassThatHoldsIt) {
  for (size_t size = 1; size <= kLargestSmall; size++) {
    uint32_t c = class_of_size(size);
    ASSERT_LT(c, kClasses);
    ASSERT_GE(size_of_class(c), size);
    if (c > 0) {
      ASSERT_LT(size_of_class(c - 1), size);
    }
    // Slots and their words fit into a unit.
    ASSERT_LE(Spans::first_slot(c) + Spans::slots_in(c) * size_of_class(c), kUnit);
    ASSERT_GE(Spans::first_slot(c), Spans::slots_in(c) * sizeof(uint32_t));
  }
}

TEST(SizeClasses, AnAddressLeadsToItsSlotWithoutADivision) {
  for (uint32_t c = 0; c < kClasses; c++) {
    for (uint64_t offset = 0; offset < kUnit; offset++) ASSERT_EQ(offset * kShapes.of[c].reciprocal >> 32, offset / size_of_class(c));
  }
}

TEST(Heap, AllocatesHandlesOfEachSizeWithTheirOwnMemory) {
  Compiled compiled;
  std::vector<std::pair<void*, size_t>> all;
  for (size_t size : {0, 1, 15, 16, 17, 100, 128, 129, 1000, 8191, 8192, 8193, 70000, 1 << 20}) {
    for (int i = 0; i < 5; i++) {
      void* made = __freehold_malloc(size);
      ASSERT_TRUE(is_handle(made)) << size;
      EXPECT_EQ(reinterpret_cast<uintptr_t>(at(made)) % 16, 0u);
      EXPECT_GE(__freehold_malloc_usable_size(made), size);
      memset(at(made), static_cast<int>(all.size()), size);
      all.emplace_back(made, size);
    }
  }
  for (size_t i = 0; i < all.size(); i++) {
    for (size_t byte = 0; byte < all[i].second; byte++) ASSERT_EQ(at(all[i].first)[byte], static_cast<uint8_t>(i));
    __freehold_free(all[i].first);
  }
}

TEST(Heap, CallocIsZeroAlsoInMemoryThatWasUsed) {
  Compiled compiled;
  for (size_t size : {48, 5000, 100000}) {
    void* used = __freehold_malloc(size);
    memset(at(used), 0xff, size);
    __freehold_free(used);
    void* made = __freehold_calloc(size, 1);
    for (size_t i = 0; i < size; i++) ASSERT_EQ(at(made)[i], 0) << size;
    __freehold_free(made);
  }
  errno = 0;
  EXPECT_EQ(__freehold_calloc(SIZE_MAX / 2, 3), nullptr);
  EXPECT_EQ(errno, ENOMEM);
}

TEST(Heap, AlignsTheHandleAndTheAddress) {
  Compiled compiled;
  for (size_t alignment = 1; alignment <= kUnit; alignment *= 2) {
    for (size_t size : {size_t{1}, size_t{40}, size_t{3000}, size_t{9000}}) {
      // Several ids: the low bits of a handle come from its id.
      void* made[8];
      for (void*& one : made) {
        one = __freehold_aligned_alloc(alignment, size);
        EXPECT_EQ(reinterpret_cast<uintptr_t>(one) % alignment, 0u) << alignment << ' ' << size;
        EXPECT_EQ(reinterpret_cast<uintptr_t>(at(one)) % alignment, 0u) << alignment << ' ' << size;
      }
      move_everything();
      for (void* one : made) {
        EXPECT_EQ(reinterpret_cast<uintptr_t>(at(one)) % alignment, 0u) << alignment << ' ' << size;
        __freehold_free(one);
      }
    }
  }
  void* result = nullptr;
  EXPECT_EQ(__freehold_posix_memalign(&result, 24, 8), EINVAL);
  EXPECT_EQ(__freehold_posix_memalign(&result, 4096, 8), 0);
  __freehold_free(result);
}

// Not a span of its own for each.
TEST(Heap, SmallAlignedObjectsTakeLittleMemory) {
  Compiled compiled;
  for (size_t alignment = 128; alignment <= kLargestSmall; alignment *= 2) {
    size_t before = heap.spans().used();
    std::vector<void*> all;
    for (int i = 0; i < 1000; i++) all.push_back(__freehold_aligned_alloc(alignment, 100));
    EXPECT_LE(heap.spans().used() - before, 1200 * alignment + 2 * kUnit) << alignment;
    move_everything();
    EXPECT_EQ(heap.verify(), nullptr);
    for (void* one : all) {
      EXPECT_EQ(reinterpret_cast<uintptr_t>(one) % alignment, 0u);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(at(one)) % alignment, 0u);
      EXPECT_EQ(objects::start_of(reinterpret_cast<uint64_t>(one)), reinterpret_cast<uintptr_t>(at(one)));
      __freehold_free(one);
    }
  }
}

TEST(Heap, ReallocKeepsTheContentsAndGivesANewHandleWhenItMoves) {
  Compiled compiled;
  void* made = __freehold_malloc(10);
  strcpy(at<char>(made), "contents");
  for (size_t size : {20, 500, 9000, 200000, 300, 12}) {
    void* before = made;
    uint8_t* address = at(made);
    made = __freehold_realloc(made, size);
    EXPECT_STREQ(at<char>(made), "contents");
    if (made == before) {
      EXPECT_EQ(at(made), address);
    }
  }
  EXPECT_EQ(__freehold_realloc(made, 0), nullptr);
}

TEST(Heap, APointerOutsideOfItsObjectKeepsItsId) {
  Compiled compiled;
  void* made = __freehold_malloc(100);
  auto value = reinterpret_cast<uint64_t>(made);
  for (int64_t distance : {-(int64_t{200} << 20), int64_t{-8}, int64_t{100}, int64_t{200} << 20}) {
    EXPECT_EQ(HandleTable::id_of(value + static_cast<uint64_t>(distance)), id(made));
    EXPECT_EQ(HandleTable::translate(value + static_cast<uint64_t>(distance)) - static_cast<uint64_t>(distance), HandleTable::translate(value));
  }
  __freehold_free(made);
}

TEST(Heap, AnAddressLeadsBackToItsHandle) {
  Compiled compiled;
  for (size_t size : {16, 1000, 100000}) {
    auto* made = static_cast<uint8_t*>(__freehold_malloc(size));
    for (size_t i : {size_t{0}, size / 2, size - 1}) EXPECT_EQ(__freehold_handle(at(made) + i), made + i);
    uint8_t* address = at(made);
    __freehold_free(made);
    EXPECT_EQ(__freehold_handle(address), address);
  }
  int local;
  EXPECT_EQ(__freehold_handle(&local), &local);
  EXPECT_EQ(__freehold_handle(nullptr), nullptr);
}

TEST(Heap, AnIdIsNotGivenOutAgainForAWhile) {
  Compiled compiled;
  void* gone = __freehold_malloc(32);
  __freehold_free(gone);
  for (size_t i = 0; i < HandleTable::kQuarantine - 2 * kMostIds; i++) {
    void* made = __freehold_malloc(32);
    ASSERT_NE(id(made), id(gone));
    __freehold_free(made);
  }
  EXPECT_EQ(HandleTable::translate(reinterpret_cast<uint64_t>(gone)) >> 63, 1u) << "a freed handle is no address";
}

TEST(HeapDeathTest, ReportsWhatIsFreedTwiceOrIsNoObject) {
  Compiled compiled;
  void* made = __freehold_malloc(64);
  EXPECT_DEATH(__freehold_free(static_cast<char*>(made) + 16), "free of a pointer into an object");
  __freehold_free(made);
  EXPECT_DEATH(__freehold_free(made), "double free");
  EXPECT_DEATH((void)__freehold_realloc(made, 10), "realloc of memory that is free");
  EXPECT_DEATH(__freehold_free(reinterpret_cast<void*>(~uint64_t{0} << 32)), "no object");
}

// In a process of its own: the limit stays. Ids that earlier tests have freed are given out first: so many allocations that there are none left.
TEST(HeapDeathTest, WithoutIdsThereIsPlainMemory) {
  EXPECT_EXIT(
      {
        Compiled compiled;
        size_t ids = table.ever_given_out();
        table.set_limit(ids + 1);
        std::vector<void*> made;
        bool plain = false;
        for (size_t i = 0; i < ids + 1000; i++) {
          made.push_back(__freehold_calloc(1, 100));
          plain |= !is_handle(made.back());
          at(made.back())[99] = 1;
        }
        void* grown = __freehold_realloc(made.back(), 100000);
        at(grown)[99999] = at(grown)[99];
        made.back() = grown;
        for (void* one : made) __freehold_free(one);
        _exit(plain ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST(HeapDeathTest, ObjectsThatAreTooLargeArePlainMemory) {
  Compiled compiled;
  void* made = __freehold_malloc(kLargestObject + 1);
  EXPECT_FALSE(is_handle(made));
  __freehold_free(made);
}

TEST(HeapDeathTest, WithoutTheTablesAddressesTheProgramEndsWithAMessage) {
  EXPECT_DEATH(
      {
        HandleTable other;
        if (!other.initialize()) os::fail("taken\n");
      },
      "taken");
}

TEST(Heap, MovesEverythingThatIsNotPinned) {
  Compiled compiled;
  std::vector<void*> all;
  for (int i = 0; i < 500; i++) {
    size_t size = i % 50 == 0 ? 20000 : static_cast<size_t>(i + 1);
    all.push_back(__freehold_malloc(size));
    memset(at(all.back()), i, size);
  }
  void* pinned = all[250];
  std::vector<uint8_t*> before;
  for (void* one : all) before.push_back(at(one));
  move_everything(pinned);
  EXPECT_EQ(at(pinned), before[250]);
  for (size_t i = 0; i < all.size(); i++) {
    if (i != 250) {
      EXPECT_NE(at(all[i]), before[i]) << i;
    }
    size_t size = i % 50 == 0 ? 20000 : i + 1;
    for (size_t byte = 0; byte < size; byte++) ASSERT_EQ(at(all[i])[byte], static_cast<uint8_t>(i));
  }
  before[250] = nullptr;
  move_everything();
  EXPECT_NE(at(pinned), before[250]) << "a pin ends with its record";
  for (void* one : all) __freehold_free(one);
}

TEST(Heap, WhatMayBeKeptNeverMoves) {
  Compiled compiled;
  void* made = __freehold_malloc(64);
  void* slot;
  void* address = __freehold_keep(made, &slot);
  move_everything();
  EXPECT_EQ(at(made), address);
  __freehold_free(made);
}

TEST(Heap, NoMemoryIsNullAndErrno) {
  Compiled compiled;
  errno = 0;
  EXPECT_EQ(__freehold_malloc(kLargestObject * 300), nullptr);
  EXPECT_EQ(errno, ENOMEM);
}

TEST(Defragmenter, GivesBackTheSpansOfASparseHeap) {
  Compiled compiled;
  std::vector<void*> all;
  for (int i = 0; i < 200000; i++) {
    all.push_back(__freehold_malloc(static_cast<size_t>(40 + i % 4 * 60)));
    *at<int>(all.back()) = i;
  }
  std::mt19937 random(7);
  std::vector<std::pair<void*, int>> live;
  for (int i = 0; i < 200000; i++) {
    if (random() % 5 == 0) live.emplace_back(all[static_cast<size_t>(i)], i);
    else __freehold_free(all[static_cast<size_t>(i)]);
  }
  HeapFigures before = heap.figures();
  Thread& thread = threads::current();
  threads::leave(thread);
  Bounds bounds;
  bounds.overhead = 0.9;  // no long pauses
  size_t gained = defragmenter.run_round(bounds);
  threads::enter(thread);
  HeapFigures after = heap.figures();
  EXPECT_GT(gained, 0u);
  EXPECT_LT(after.resident_bytes, before.resident_bytes / 2);
  EXPECT_LT(after.resident_bytes, after.live_bytes * 12 / 10 + (size_t{2} << 20));
  EXPECT_EQ(heap.verify(), nullptr);
  for (auto& [pointer, number] : live) {
    ASSERT_EQ(*at<int>(pointer), number);
    __freehold_free(pointer);
  }
}

// A stop ends by the clock, which is looked at often; and what it empties is given back behind it, a little at a time.
TEST(Defragmenter, AStopEndsAtItsDeadlineAndGivesNothingBack) {
  Compiled compiled;
  constexpr size_t kSize = 112;
  std::vector<void*> all;
  for (int i = 0; i < 20'000; i++) all.push_back(__freehold_malloc(kSize));
  for (size_t i = 0; i < all.size(); i++) {
    if (i % 8 != 0) __freehold_free(all[i]);
  }
  Thread& thread = threads::current();
  threads::leave(thread);
  threads::stop();
  heap.take_loose(thread.cache, class_of_size(kSize));
  Evacuation evacuation(class_of_size(kSize));
  uint64_t moved = heap.figures().moved_bytes;
  size_t resident = heap.spans().resident();
  heap.spans().keep_dirty(true);
  EXPECT_TRUE(evacuation.move_until(0)) << "there is more to do";
  moved = heap.figures().moved_bytes - moved;
  EXPECT_GT(moved, 0u);
  EXPECT_LT(moved, 17'000u) << "it looks at the clock";
  while (evacuation.move_until(UINT64_MAX)) {}
  EXPECT_GT(evacuation.emptied(), size_t{1} << 20);
  EXPECT_EQ(heap.spans().resident(), resident) << "no system call in the stop";
  heap.spans().keep_dirty(false);
  threads::resume();
  heap.lock();
  constexpr size_t kAtATime = 3;
  while (heap.spans().give_back_dirty(0, kAtATime)) {}
  EXPECT_EQ(heap.spans().resident(), heap.spans().used());
  heap.unlock();
  EXPECT_EQ(heap.verify(), nullptr);
  threads::enter(thread);
  for (size_t i = 0; i < all.size(); i += 8) __freehold_free(all[i]);
}

// A thread that empties spans between the stops of a round: what was a span when the round made its lists is none any more, and lies in a free run, or in a large object.
TEST(Defragmenter, SpansThatEmptyDuringARoundAreNoTargets) {
  std::atomic<bool> ends{false};
  std::thread rounds([&] {
    Bounds bounds;
    bounds.overhead = 0.9;
    while (!ends.load()) defragmenter.run_round(bounds);
  });
  [&] {
    Compiled compiled;
    std::mt19937 random(11);
    std::vector<std::pair<void*, int>> sparse, large;
    for (int round = 0; round < 30; round++) {
      std::vector<void*> all;
      for (int i = 0; i < 20'000; i++) all.push_back(__freehold_malloc(static_cast<size_t>(200 + i % 3 * 300)));
      for (size_t i = 0; i < all.size(); i++) {
        if (i % 6 == 0) {
          *at<int>(all[i]) = static_cast<int>(i);
          sparse.emplace_back(all[i], static_cast<int>(i));
        } else {
          __freehold_free(all[i]);
        }
        if (i % 64 == 0) poll();
      }
      std::shuffle(sparse.begin(), sparse.end(), random);
      for (; sparse.size() > 500; sparse.pop_back()) {
        ASSERT_EQ(*at<int>(sparse.back().first), sparse.back().second) << round;
        __freehold_free(sparse.back().first);
        if (sparse.size() % 64 == 0) poll();
      }
      for (int i = 0; i < 20; i++) {
        size_t size = 70'000 + random() % 200'000;
        large.emplace_back(__freehold_malloc(size), static_cast<int>(size));
        memset(at(large.back().first), 0x5a, size);
      }
      for (; large.size() > 30; large.pop_back()) {
        for (int byte = 0; byte < large.back().second; byte += 64) ASSERT_EQ(at(large.back().first)[byte], 0x5a) << round;
        __freehold_free(large.back().first);
      }
      ASSERT_EQ(heap.verify(), nullptr) << round;
    }
    for (auto& [pointer, number] : sparse) {
      ASSERT_EQ(*at<int>(pointer), number);
      __freehold_free(pointer);
    }
    for (auto& [pointer, size] : large) __freehold_free(pointer);
    EXPECT_EQ(heap.verify(), nullptr);
  }();
  ends = true;
  rounds.join();
}

TEST(Os, AFailedMappingIsNoMemory) {
  os::fail_map(1);
  EXPECT_EQ(os::map(4096), nullptr);
  void* made = os::map(4096);
  ASSERT_NE(made, nullptr);
  EXPECT_EQ(os::map(4096, reinterpret_cast<uintptr_t>(made)), nullptr) << "never over another mapping";
  os::unmap(made, 4096);
}

TEST(Defragmenter, WithoutMemoryForItsListARoundDoesNothing) {
  Compiled compiled;
  std::vector<void*> all;
  for (int i = 0; i < 20000; i++) all.push_back(__freehold_malloc(64));
  for (size_t i = 0; i < all.size(); i++) {
    if (i % 10 != 0) __freehold_free(all[i]);
  }
  Thread& thread = threads::current();
  threads::leave(thread);
  os::fail_map(1);
  Bounds bounds;
  bounds.overhead = 0.9;
  // The class whose list finds no memory is left for the next round.
  size_t first = defragmenter.run_round(bounds);
  os::fail_map(0);
  EXPECT_EQ(heap.verify(), nullptr);
  EXPECT_GT(first + defragmenter.run_round(bounds), 0u);
  threads::enter(thread);
  for (size_t i = 0; i < all.size(); i += 10) __freehold_free(all[i]);
}

}  // namespace
}  // namespace freehold::bridge::test
