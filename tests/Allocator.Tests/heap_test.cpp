// Allocation, deletion and release, step by step.
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <thread>

#include "Platform/memory_budget.h"
#include "heap/accounting.h"
#include "heap/running_finalizers.h"
#include "heap_fixture.h"
#include "os/userfaultfd.h"

namespace freehold::testing {
namespace {

using core::Object;
using heap::AddressState;
using heap::DeleteResult;

TEST(Generation, IsTheNumberOfLeadingOnes) {
  EXPECT_EQ(core::generation_of(0), 0);
  EXPECT_EQ(core::generation_of(0x7fffffff), 0);
  EXPECT_EQ(core::generation_of(0x80000000), 1);
  EXPECT_EQ(core::generation_of(0xbfffffff), 1);
  EXPECT_EQ(core::generation_of(0xc0000000), 2);
  EXPECT_EQ(core::generation_of(0xe0000000), 3);
  EXPECT_EQ(core::generation_of(0xffffffff), 31);
}

TEST_F(HeapTest, ObjectsFollowEachOtherAndAreZero) {
  Object* first = allocate(&small_type.table);
  Object* second = allocate(&small_type.table);
  EXPECT_EQ(reinterpret_cast<uint8_t*>(second) - reinterpret_cast<uint8_t*>(first), 24);
  EXPECT_EQ(*first->header(), 0u);
  EXPECT_EQ(*first->sync_word(), 0u);
  EXPECT_EQ(heap::classify(first), AddressState::kLive);
  expect_valid("after two allocations");
}

TEST_F(HeapTest, DeleteOnce) {
  heap::ThreadTotals before = heap::thread_totals();
  Object* object = allocate(&small_type.table);
  EXPECT_EQ(heap::delete_object(object), DeleteResult::kDeleted);
  EXPECT_TRUE(heap::is_deleted(object));
  EXPECT_EQ(heap::delete_object(object), DeleteResult::kAlreadyDeleted);
  EXPECT_EQ(heap::thread_totals().deleted_objects - before.deleted_objects, 1u);
  EXPECT_EQ(heap::thread_totals().deleted_bytes - before.deleted_bytes, 24u);
}

TEST_F(HeapTest, WhatIsNotOfTheHeapCannotBeDeleted) {
  alignas(8) uint64_t elsewhere[4] = {0, reinterpret_cast<uint64_t>(&small_type.table)};
  EXPECT_EQ(heap::delete_object(&elsewhere[1]), DeleteResult::kNotDeletable);
  EXPECT_EQ(heap::delete_object(nullptr), DeleteResult::kNotDeletable);
}

TEST_F(HeapTest, FinalizerAndSyncEntryComeFirst) {
  Object* object = allocate(&finalizable_type.table);
  EXPECT_EQ(heap::delete_object(object), DeleteResult::kNeedsFinalizer);
  EXPECT_FALSE(heap::is_deleted(object));
  EXPECT_NE(*object->sync_word() & core::kSyncFinalizerRun, 0u) << "claimed";
  *object->sync_word() |= core::kSyncIsHashOrIndex | 5;
  EXPECT_EQ(heap::delete_object(object), DeleteResult::kHasSyncEntry);
  EXPECT_EQ(heap::delete_keeping_lock(object), DeleteResult::kDeleted);
  Object* hashed = allocate(&small_type.table);
  *hashed->sync_word() |= core::kSyncIsHashOrIndex | core::kSyncIsHash | 5;  // a hash code needs nothing
  EXPECT_EQ(heap::delete_object(hashed), DeleteResult::kDeleted);
}

// Whoever marks it says when its lock is free: until then it is deleted for users, and whole for the heap.
TEST_F(HeapTest, WhatWaitsForItsLockIsDeletedOnce) {
  Object* object = allocate(&small_type.table);
  EXPECT_FALSE(heap::is_postponed(object));
  *object->sync_word() |= core::kSyncPostponed | core::kSyncIsHashOrIndex | 5;
  EXPECT_TRUE(heap::is_postponed(object));
  EXPECT_FALSE(heap::is_deleted(object));
  EXPECT_EQ(heap::delete_object(object), DeleteResult::kAlreadyDeleted);
  EXPECT_EQ(heap::delete_itself(object), DeleteResult::kAlreadyDeleted);
  EXPECT_EQ(heap::delete_postponed(object), DeleteResult::kHasSyncEntry) << "a lock that was made just then";
  *object->sync_word() = core::kSyncPostponed;
  EXPECT_EQ(heap::delete_postponed(object), DeleteResult::kDeleted);
  EXPECT_TRUE(heap::is_deleted(object));
  EXPECT_EQ(heap::delete_postponed(object), DeleteResult::kAlreadyDeleted);
}

// A finalizer may delete its own object, or one whose finalizer is further out: the deletion that runs the finalizer is the one that counts.
TEST_F(HeapTest, WhatIsFinalizedIsDeletedOnceByTheDeletionThatRunsTheFinalizer) {
  Object *outer = allocate(&finalizable_type.table), *inner = allocate(&finalizable_type.table), *other = allocate(&finalizable_type.table);
  uint64_t deleted = heap::thread_totals().deleted_objects;
  void *outer_reference = outer, *inner_reference = inner;
  EXPECT_EQ(heap::delete_object(outer), DeleteResult::kNeedsFinalizer);
  heap::RunningFinalizer of_outer = {&outer_reference, nullptr}, of_inner = {&inner_reference, nullptr};
  heap::begin_finalizer(&of_outer);
  EXPECT_EQ(heap::delete_object(outer), DeleteResult::kDeleted);
  EXPECT_FALSE(heap::is_deleted(outer));
  EXPECT_EQ(heap::delete_object(inner), DeleteResult::kNeedsFinalizer);
  heap::begin_finalizer(&of_inner);
  for (Object* object : {inner, outer}) {
    EXPECT_TRUE(heap::is_finalizing(object));
    EXPECT_EQ(heap::delete_object(object), DeleteResult::kDeleted);
    EXPECT_FALSE(heap::is_deleted(object));
  }
  EXPECT_FALSE(heap::is_finalizing(other));
  EXPECT_EQ(heap::delete_object(other), DeleteResult::kNeedsFinalizer);
  EXPECT_EQ(heap::thread_totals().deleted_objects, deleted);
  heap::end_finalizer(&of_inner);
  EXPECT_FALSE(heap::is_finalizing(inner));
  EXPECT_TRUE(heap::is_finalizing(outer));
  EXPECT_EQ(heap::delete_object(inner), DeleteResult::kDeleted);
  EXPECT_TRUE(heap::is_deleted(inner));
  heap::end_finalizer(&of_outer);
  EXPECT_EQ(heap::delete_object(outer), DeleteResult::kDeleted);
  EXPECT_TRUE(heap::is_deleted(outer));
  EXPECT_EQ(heap::thread_totals().deleted_objects, deleted + 2);
}

// The header of a page's last object may be at the end of the page, its body on the next.
TEST_F(HeapTest, APageDiesWithTheLastObjectThatTouchesIt) {
  std::vector<Object*> objects;
  for (int i = 0; i < 1000; i++) objects.push_back(allocate(&node_type.table));
  auto start = [&](size_t i) { return reinterpret_cast<uintptr_t>(objects[i]->start()); };
  size_t page = core::arena.page_index(start(0)) + 1;
  uintptr_t begin = reinterpret_cast<uintptr_t>(core::arena.page_start(page));
  std::vector<size_t> touching;
  for (size_t i = 0; i < objects.size(); i++) {
    if (start(i) + 40 > begin && start(i) < begin + core::kPageSize) touching.push_back(i);
  }
  ASSERT_GT(touching.size(), 100u);
  ASSERT_LT(start(touching.front()), begin) << "the case wants an object across the boundary";
  for (size_t i : touching) {
    EXPECT_FALSE(core::is_page_dead(page));
    ASSERT_EQ(heap::delete_object(objects[i]), DeleteResult::kDeleted);
  }
  EXPECT_TRUE(core::is_page_dead(page));
  EXPECT_FALSE(core::is_page_dead(page - 1));
  expect_valid("after one page died");
}

TEST_F(HeapTest, ADeadBlockIsRecycledAtAFreshAddress) {
  std::vector<Object*> objects;
  for (int i = 0; i < 1'000'000; i++) {
    Object* object = allocate(&small_type.table);
    ASSERT_NE(object, nullptr);
    ASSERT_EQ(reinterpret_cast<uint64_t*>(object)[1], 0u) << "recycled memory is zero";
    reinterpret_cast<uint64_t*>(object)[1] = ~uint64_t{0};
    objects.push_back(object);
    if (objects.size() > 100'000) {
      ASSERT_EQ(heap::delete_object(objects[objects.size() - 100'001]), DeleteResult::kDeleted);
    }
  }
  EXPECT_GT(heap::block_counters.recycled.load(), 3u);
  EXPECT_LE(heap::resident_bytes(), size_t{10} << 20);
  expect_valid("with recycled blocks");
  heap::collect();                       // the spare blocks go
  Object* long_gone = objects[200'000];  // the first block is shared by small chunks and not complete
  EXPECT_EQ(heap::delete_object(long_gone), DeleteResult::kDangling);
  EXPECT_TRUE(heap::is_deleted(long_gone));
  EXPECT_EQ(heap::classify(long_gone), AddressState::kDead);
  for (size_t i = objects.size() - 100'000; i < objects.size(); i++) ASSERT_EQ(heap::delete_object(objects[i]), DeleteResult::kDeleted);
  heap::retire(&context_);
  heap::collect();
  expect_valid("after everything was deleted");
  EXPECT_LE(heap::resident_bytes(), 2 * core::kBlockSize);  // the shared block
}

TEST_F(HeapTest, LargeAndHugeObjects) {
  size_t before = heap::resident_bytes();
  for (uint32_t length : {33'000u, 70'000u, 1'000'000u, 1'100'000u, 5'000'000u, 40'000'000u}) {
    Object* object = allocate(&bytes_type.table, length);
    ASSERT_NE(object, nullptr);
    auto* data = reinterpret_cast<uint8_t*>(object) + 16;
    for (uint32_t i = 0; i < length; i += 997) ASSERT_EQ(data[i], 0);
    memset(data, 0xcd, length);
    EXPECT_EQ(heap::find_object(reinterpret_cast<uintptr_t>(data) + length - 1), object);
    expect_valid("with a large object");
    EXPECT_TRUE(heap::has_deleted(heap::delete_object(object)));
    heap::end_listed_huge();
    EXPECT_FALSE(heap::has_deleted(heap::delete_object(object)));
    expect_valid("without it");
  }
  heap::collect();
  EXPECT_LE(heap::resident_bytes(), before + core::kBlockSize);
}

// Addresses are used once: what the heap knows of those that are gone must not grow with them, nor what a walk costs.
TEST_F(HeapTest, TheTablesOfDeadNeighboursGo) {
  constexpr size_t kGroups = 12;
  std::vector<Object*> objects;
  while (heap::lower_frontier() < kGroups * core::kBlocksPerGroup) objects.push_back(allocate(&bytes_type.table, 1000));
  size_t pages = heap::lower_frontier() * core::kPagesPerBlock * sizeof(core::PageRecord);
  for (size_t i = 0; i < objects.size(); i++) {
    if (i != objects.size() / 2) {
      ASSERT_EQ(heap::delete_object(objects[i]), DeleteResult::kDeleted);
    }
  }
  size_t before = bytes_with_memory(core::arena.pages, pages);
  EXPECT_GE(before, pages / 2);
  heap::retire(&context_);
  heap::collect();
  // The shared block, the survivor's group, the block that was allocated from.
  EXPECT_LE(bytes_with_memory(core::arena.pages, pages), pages / kGroups * 3);
  size_t visited = 0;
  heap::for_each_lower_block([&](size_t) { visited++; });
  EXPECT_LE(visited, 3 * core::kBlocksPerGroup + heap::reserve_blocks());
  EXPECT_FALSE(heap::is_deleted(objects[objects.size() / 2]));
  EXPECT_EQ(heap::delete_object(objects[1000]), DeleteResult::kDangling);
  EXPECT_EQ(heap::delete_object(objects[objects.size() / 2]), DeleteResult::kDeleted);
  expect_valid("with groups that are gone");
}

TEST_F(HeapTest, TheTablesOfDeadHugeObjectsGo) {
  Object* kept = nullptr;
  for (int i = 0; i < 100; i++) {
    Object* object = allocate(&bytes_type.table, i % 2 == 0 ? 3'000'000 : 70'000'000);
    ASSERT_NE(object, nullptr);
    if (i == 50) {
      kept = object;
    } else {
      ASSERT_TRUE(heap::has_deleted(heap::delete_object(object)));
      heap::end_listed_huge();
    }
  }
  size_t first = core::arena.block_count() / 2, used = heap::upper_frontier() - first, visited = 0;
  EXPECT_GT(used, 1'500u);
  heap::for_each_upper_block([&](size_t) { visited++; });
  EXPECT_LE(visited, 3 * core::kBlocksPerGroup);
  EXPECT_LE(bytes_with_memory(&core::arena.blocks[first], used / core::kBlocksPerGroup * core::kBlocksPerGroup * sizeof(core::BlockRecord)),
            3 * core::kPageSize);
  expect_valid("with one that lives");
  EXPECT_TRUE(heap::has_deleted(heap::delete_object(kept)));
}

TEST_F(HeapTest, PinnedObjectsKeepTheirPage) {
  Object* pinned = allocate_with(&context_, &bytes_type.table, 100, heap::kAllocPinned);
  Object* other = allocate_with(&context_, &bytes_type.table, 100, heap::kAllocPinned);
  EXPECT_NE(core::arena.block_index(reinterpret_cast<uintptr_t>(pinned)), core::arena.block_index(reinterpret_cast<uintptr_t>(allocate(&small_type.table))));
  EXPECT_EQ(heap::delete_object(pinned), DeleteResult::kDeleted);
  heap::collect();
  EXPECT_EQ(heap::classify(other), AddressState::kLive);
  expect_valid("pinned");
}

TEST_F(HeapTest, TheLimitMakesAllocationFailAndDeletionMendsIt) {
  heap::set_limit(8 * core::kBlockSize);
  std::vector<Object*> objects;
  while (Object* object = allocate(&bytes_type.table, 1000)) objects.push_back(object);
  EXPECT_GT(objects.size() * 1024, 6 * core::kBlockSize);
  EXPECT_EQ(allocate(&bytes_type.table, 50'000'000), nullptr);
  for (Object* object : objects) ASSERT_EQ(heap::delete_object(object), DeleteResult::kDeleted);
  EXPECT_NE(allocate(&bytes_type.table, 1000), nullptr);
  expect_valid("after exhaustion");
}

TEST_F(HeapTest, LostUpdatesOfCountersAreFound) {
  std::vector<Object*> objects;
  for (int i = 0; i < 20'000; i++) objects.push_back(allocate(&small_type.table));
  for (Object* object : objects) {
    heap::delete_object(object);
    // What a race between two deleting threads may do to the hint.
    uint16_t& deleted = core::arena.pages[core::arena.page_index(reinterpret_cast<uintptr_t>(object))].deleted;
    if (deleted > 30) deleted = static_cast<uint16_t>(deleted - 3);
  }
  EXPECT_EQ(heap::dead_pages(), 0u);
  heap::collect();
  EXPECT_GT(heap::dead_pages(), 20'000u * 24 / core::kPageSize - 2);
  expect_valid("after the recount");
}

// Counters that claim too much must not kill what lives.
TEST_F(HeapTest, ExaggeratedCountersKillNothing) {
  Object* survivor = allocate(&small_type.table);
  std::vector<Object*> objects;
  for (int i = 0; i < 20'000; i++) objects.push_back(allocate(&small_type.table));
  core::arena.pages[core::arena.page_index(reinterpret_cast<uintptr_t>(survivor))].deleted = 511;
  for (Object* object : objects) ASSERT_EQ(heap::delete_object(object), DeleteResult::kDeleted);
  EXPECT_EQ(heap::classify(survivor), AddressState::kLive);
  EXPECT_EQ(survivor->type, &small_type.table);
  heap::collect();
  EXPECT_EQ(heap::classify(survivor), AddressState::kLive);
  expect_valid("with a lonely survivor");
}

TEST_F(HeapTest, ReleasedPagesInALiveBlockStayDeadAndTheRestGoesOn) {
  std::vector<Object*> objects;
  for (int i = 0; i < 200'000; i++) objects.push_back(allocate(&node_type.table));
  Object* survivor = objects[objects.size() / 2];
  for (Object* object : objects) {
    if (object != survivor) {
      ASSERT_EQ(heap::delete_object(object), DeleteResult::kDeleted);
    }
  }
  heap::collect();
  EXPECT_GT(heap::block_counters.released_pages.load(), 200u);
  EXPECT_EQ(heap::classify(survivor), AddressState::kLive);
  expect_valid("with released pages");
  EXPECT_EQ(heap::delete_object(objects[objects.size() / 2 - 1000]), DeleteResult::kDangling);
  EXPECT_EQ(heap::delete_object(survivor), DeleteResult::kDeleted);
  heap::collect();
  expect_valid("after the survivor");
  heap::retire(&context_);
  heap::collect();
  expect_valid("after the chunk");
}

// The kernel may make one mapping of moved frames and of the empty, watched mapping beside their new address, when these were neighbours once: then it
// forgets to watch it.
TEST_F(HeapTest, WhatFramesLeftIsWatchedWhateverComesBesideIt) {
  if (!os::has_userfaultfd()) GTEST_SKIP();
  auto acquire = [](heap::BlockUse use) {
    size_t block = heap::acquire_block(core::BlockKind::kSmall, use);
    *reinterpret_cast<volatile uint64_t*>(core::arena.block_start(block)) = block + 1;
    return block;
  };
  auto bury = [](size_t block) {
    for (size_t page = 0; page < core::kPagesPerBlock; page++) heap::mark_page_dead(block * core::kPagesPerBlock + page);
  };
  size_t first = acquire(heap::BlockUse::kOneThread), second = acquire(heap::BlockUse::kOneThread);
  bury(first);
  size_t left = acquire(heap::BlockUse::kOneThread);  // the first one's frames, which go on from here
  bury(left);
  acquire(heap::BlockUse::kPromoted);
  bury(second);
  size_t beside = acquire(heap::BlockUse::kOneThread);
  ASSERT_EQ(second, first + 1);
  ASSERT_EQ(beside, left + 1);
  uint64_t value;
  for (size_t gone : {first, second, left}) EXPECT_FALSE(core::try_load(reinterpret_cast<uint64_t*>(core::arena.block_start(gone)), &value)) << gone;
  EXPECT_TRUE(core::try_load(reinterpret_cast<uint64_t*>(core::arena.block_start(beside)), &value));
}

// An owner's chunk is taken while it idles, its block dies, and all around it, down to the tables. Then it comes back.
class IdleOwnerTest : public HeapTest {
 protected:
  static constexpr uint32_t kLength = core::kWindowSize - 24;  // an object that fills a window: nothing of what the owner has claimed is left

  static void end(size_t block) {
    for (size_t page = 0; page < core::kPagesPerBlock; page++) heap::mark_page_dead(block * core::kPagesPerBlock + page);
    heap::let_record_go(block);
  }

  // Allocates until the chunk is a whole block, in a group that has no other block yet.
  void begin_whole_block() {
    while (reinterpret_cast<uintptr_t>(context_.reserved) < 6) objects_.push_back(allocate(&bytes_type.table, kLength));
    while (static_cast<void*>(context_.alloc_limit - core::kHeaderSize) != context_.chunk_end) objects_.push_back(allocate(&bytes_type.table, kLength));
    while (heap::acquire_block(core::BlockKind::kSmall) % core::kBlocksPerGroup != core::kBlocksPerGroup - 1) continue;
  }

  // All blocks of the group but the owner's.
  static void end_group_but(size_t owners) {
    while (true) {
      size_t block = heap::acquire_block(core::BlockKind::kSmall);
      if (block / core::kBlocksPerGroup != owners / core::kBlocksPerGroup) break;
      end(block);
    }
    heap::trim_pool(0);
    heap::collapse_moved(0);
  }

  std::vector<Object*> objects_;
};

TEST_F(IdleOwnerTest, AfterItsObjects) {
  begin_whole_block();
  Object* last = allocate(&bytes_type.table, kLength);
  size_t block = core::arena.block_index(reinterpret_cast<uintptr_t>(last)), group = block / core::kBlocksPerGroup;
  ASSERT_EQ(context_.alloc_ptr, context_.alloc_limit);
  ASSERT_EQ(context_.chunk_end, core::arena.block_start(block + 1));
  EXPECT_EQ(heap::end_idle_chunks(block), 63 * core::kWindowSize);
  ASSERT_EQ(heap::delete_object(last), DeleteResult::kDeleted);
  end_group_but(block);
  EXPECT_EQ(core::arena.blocks[block].state.load(), core::BlockState::kGone);
  EXPECT_EQ(core::group_state(group), core::kBlocksPerGroup - 1);
  Object* next = allocate(&bytes_type.table, kLength);
  ASSERT_NE(next, nullptr);
  EXPECT_NE(core::arena.block_index(reinterpret_cast<uintptr_t>(next)) / core::kBlocksPerGroup, group);
  EXPECT_EQ(core::group_state(group), core::GroupState::kWithoutTables);
}

TEST_F(IdleOwnerTest, BeforeItsFirst) {
  begin_whole_block();
  ASSERT_TRUE(heap::next_chunk(&context_, core::kWindowSize, core::BlockKind::kSmall));
  size_t block = core::arena.block_index(reinterpret_cast<uintptr_t>(context_.chunk_end) - 1), group = block / core::kBlocksPerGroup;
  EXPECT_EQ(heap::end_idle_chunks(block), core::kBlockSize);
  end_group_but(block);
  EXPECT_EQ(core::group_state(group), core::kBlocksPerGroup - 1);
  heap::retire(&context_);
  EXPECT_EQ(context_.chunk_end, nullptr);
  EXPECT_EQ(core::group_state(group), core::GroupState::kWithoutTables);
}

class MprotectHeapTest : public HeapTest {
  void configure(core::Knobs& knobs) override { knobs.protection = core::Protection::kMprotect; }
};

// The budget of mappings is paid back: by runs that grow together, and by blocks that die.
TEST_F(MprotectHeapTest, ReleasedRunsAreCountedAndPaidBack) {
  std::vector<Object*> objects;
  for (int i = 0; i < 1'000'000; i++) objects.push_back(allocate(&small_type.table));
  heap::retire(&context_);
  auto remove = [&](size_t i) {
    if (objects[i] != nullptr) {
      ASSERT_EQ(heap::delete_object(objects[i]), DeleteResult::kDeleted);
      objects[i] = nullptr;
    }
  };
  // Every other stretch of some pages.
  for (size_t i = 0; i < objects.size(); i++) {
    if (i / 1000 % 2 == 0) remove(i);
  }
  heap::collect();
  uint64_t scattered = heap::block_counters.mapping_splits.load();
  EXPECT_GT(scattered, 500u);
  for (size_t i = 0; i < objects.size(); i++) {
    if (i / 1000 % 8 != 1) remove(i);
  }
  heap::collect();
  EXPECT_LT(heap::block_counters.mapping_splits.load(), scattered);
  for (size_t i = 0; i < objects.size(); i++) remove(i);
  heap::collect();
  EXPECT_EQ(heap::block_counters.mapping_splits.load(), 2u) << "one run: what was used of the shared block";
  expect_valid("at the end");
}

// The window ends with the header of an object that is not there yet; behind it lies what the block's last life left.
TEST_F(HeapTest, WalkStopsAtAWindowThatIsNotInUseYet) {
  std::vector<Object*> garbage;
  for (int i = 0; i < 10'000; i++) {
    garbage.push_back(allocate(&bytes_type.table, 1000));
    memset(reinterpret_cast<uint8_t*>(garbage.back()) + 16, 0x75, 1000);
  }
  for (Object* object : garbage) ASSERT_EQ(heap::delete_object(object), heap::DeleteResult::kDeleted);
  Object* object;
  do {
    object = allocate(&small_type.table);
  } while (reinterpret_cast<uintptr_t>(object->start()) % core::kBlockSize != 0);
  ASSERT_TRUE(core::arena.blocks[core::arena.block_index(reinterpret_cast<uintptr_t>(object))].dirty);
  for (size_t i = 1; i < core::kWindowSize / 24; i++) object = allocate(&small_type.table);
  ASSERT_EQ(reinterpret_cast<uintptr_t>(object->start() + 24) % core::kWindowSize, core::kWindowSize - 8);
  EXPECT_FALSE(heap::recount_page(core::arena.page_index(reinterpret_cast<uintptr_t>(object))));
  expect_valid("with a full window");
}

class SmallBlocksHeapTest : public HeapTest {
  void configure(core::Knobs& knobs) override { knobs.stress.promote = 1; }
};

// What a thread has just taken looks idle to a collection: its windows become a filler, and the block may die before its owner has used any of it.
TEST_F(SmallBlocksHeapTest, ACollectionBesideAnAllocationTakesNothingFromIt) {
  std::atomic<bool> stop{false};
  std::thread collector([&] {
    while (!stop) heap::collect();
  });
  std::vector<Object*> objects;
  for (int i = 0; i < 100; i++) {
    Object* object = allocate(&bytes_type.table, 20'000);  // a block each
    if (object == nullptr) break;
    memset(reinterpret_cast<uint8_t*>(object) + 16, i & 0xff, 20'000);
    objects.push_back(object);
  }
  stop = true;
  collector.join();
  ASSERT_EQ(objects.size(), 100u) << "out of memory";
  for (size_t i = 0; i < objects.size(); i++) ASSERT_EQ(reinterpret_cast<uint8_t*>(objects[i])[20'000], i & 0xff);
  expect_valid("beside a collector");
}

// The windows of the block for emergencies belong to nobody until a thread takes one.
TEST_F(HeapTest, ACollectionLeavesTheBlockForEmergenciesAlone) {
  heap::set_limit(4 * core::kBlockSize);
  constexpr uint32_t kLength = 30'000;
  auto blocks_started = [] { return heap::block_counters.fresh.load() + heap::block_counters.recycled.load(); };
  uint64_t started = 0;
  for (int i = 0; i < 20; i++) {
    // Each is a thread to the heap: it fails once, and has a window for what throwing needs.
    std::thread([&] {
      heap::AllocationContext context = {};
      while (allocate_with(&context, &bytes_type.table, kLength) != nullptr) {}
      Object* object = allocate_with(&context, &bytes_type.table, kLength);
      EXPECT_NE(object, nullptr) << i;
      EXPECT_EQ(heap::find_object(reinterpret_cast<uintptr_t>(object)), object);
      heap::retire(&context);
      heap::unregister_thread();
    }).join();
    heap::collect();
    expect_valid("after a collection beside an emergency");
    if (i == 0) started = blocks_started();
  }
  EXPECT_EQ(blocks_started(), started);
}

// Other heaps of the process may leave this one less than it holds. An exception must still find the memory that it is thrown with.
TEST_F(HeapTest, WhatOthersLeaveTakesNothingFromAnEmergency) {
  static uint64_t held;
  static constexpr os::BudgetOwner other = {"other", []() noexcept { return held; }, [](os::GiveBack) noexcept {}, []() noexcept { return true; }};
  os::join_budget(other);
  os::set_memory_limit(uint64_t{64} << 20);  // of which heaps may have 56
  for (int i = 0; i < 40; i++) ASSERT_NE(allocate(&bytes_type.table, 1'000'000), nullptr);
  held = uint64_t{48} << 20;
  ASSERT_LT(heap::limit(), heap::resident_memory());
  std::thread([&] {
    heap::AllocationContext context = {};
    while (allocate_with(&context, &bytes_type.table, 30'000) != nullptr) {}
    for (int i = 0; i < 8; i++) EXPECT_NE(allocate_with(&context, &bytes_type.table, 1'000), nullptr) << i;
    heap::retire(&context);
    heap::unregister_thread();
  }).join();
  held = 0;
  os::set_memory_limit(0);
}

// What refers to a deleted object is valid, whichever of its words have lost their memory.
// An array whose length lies on a page that has lost its memory, and whose header does not.
TEST_F(HeapTest, AnArrayThatHasLostItsLength) {
  std::vector<Object*> arrays;
  auto page_of = [](const void* address) { return core::arena.page_index(reinterpret_cast<uintptr_t>(address)); };
  auto bytes = [](Object* array) { return reinterpret_cast<uint8_t*>(array); };
  for (uint32_t i = 0; i < 50'000; i++) arrays.push_back(allocate(&bytes_type.table, 8 + i % 90));
  auto split = std::find_if(arrays.begin() + 1'000, arrays.end(), [&](Object* array) { return page_of(bytes(array)) != page_of(bytes(array) + 8); });
  ASSERT_NE(split, arrays.end());
  size_t page = page_of(bytes(*split) + 8);
  for (Object* array : arrays) {
    if (page_of(bytes(array) - 8) == page || page_of(bytes(array) + 8 + array->length) == page) {
      ASSERT_EQ(heap::delete_object(array), DeleteResult::kDeleted);
    }
  }
  heap::collect();
  uint64_t value;
  ASSERT_TRUE(core::try_load(reinterpret_cast<uint64_t*>(*split), &value));
  ASSERT_FALSE(core::try_load(reinterpret_cast<uint64_t*>(*split) + 1, &value));
  EXPECT_NE(heap::delete_object(*split), DeleteResult::kDeleted);
  EXPECT_TRUE(heap::is_deleted(*split));
  expect_valid("walks go on behind it");
  EXPECT_EQ(heap::delete_object(arrays.back()), DeleteResult::kDeleted);
}

TEST_F(HeapTest, ReferencesToHalfReleasedObjectsAreValid) {
  constexpr size_t kArrays = 60'000;
  std::mt19937 random(1);
  std::vector<Object*> arrays, nodes;
  for (size_t i = 0; i < kArrays / 3; i++) nodes.push_back(allocate(&node_type.table));
  for (size_t i = 0; i < kArrays; i++) arrays.push_back(allocate(&bytes_type.table, random() % 200));
  size_t straddling = 0;
  for (size_t i = 0; i < kArrays; i++) {
    reinterpret_cast<Object**>(nodes[i / 3])[1 + i % 3] = arrays[i];
    size_t first = reinterpret_cast<uintptr_t>(arrays[i]->start()) / core::kPageSize,
           last = (reinterpret_cast<uintptr_t>(arrays[i]->start()) + arrays[i]->size() - 1) / core::kPageSize;
    if (first % 2 == 0 && last == first) continue;
    straddling += first != last;
    ASSERT_EQ(heap::delete_object(arrays[i]), DeleteResult::kDeleted);
  }
  EXPECT_GT(straddling, 1000u);
  auto block_of = [](const Object* object) { return core::arena.block_index(reinterpret_cast<uintptr_t>(object)); };
  size_t released = 0;
  for (size_t block = block_of(arrays.front()); block <= block_of(arrays.back()); block++) released += heap::release_dead_pages(block, 1);
  EXPECT_GT(released, 300 * core::kPageSize);
  expect_valid("after half of the pages have gone");
}

}  // namespace
}  // namespace freehold::testing
