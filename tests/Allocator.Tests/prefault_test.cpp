// Blocks that get their memory before a thread takes them.
#include "heap/prefault.h"

#include <stdio.h>

#include "heap/addresses.h"
#include "heap/prefault_policy.h"
#include "heap_fixture.h"

namespace freehold::testing {
namespace {

using core::arena;
using core::BlockKind;
using core::BlockState;
using core::kBlockSize;
using core::Object;
using heap::DeleteResult;

// [start, end) of the kernel's mapping around an address.
std::pair<uintptr_t, uintptr_t> mapping_of(const void* address) {
  FILE* maps = fopen("/proc/self/maps", "r");
  char line[512];
  std::pair<uintptr_t, uintptr_t> found = {0, 0};
  while (fgets(line, sizeof line, maps) != nullptr) {
    uintptr_t start, end;
    if (sscanf(line, "%lx-%lx", &start, &end) == 2 && start <= reinterpret_cast<uintptr_t>(address) && reinterpret_cast<uintptr_t>(address) < end)
      found = {start, end};
  }
  fclose(maps);
  return found;
}

class PrefaultTest : public HeapTest, public ::testing::WithParamInterface<core::Protection> {
 protected:
  void configure(core::Knobs& knobs) override { knobs.protection = GetParam(); }

  static uint64_t waiting() { return heap::block_counters.prefaulted.load(); }
  static uint64_t taken() { return heap::block_counters.prefaulted_taken.load(); }
};

TEST_P(PrefaultTest, IsTakenWithItsMemory) {
  ASSERT_TRUE(heap::prefault_block(2));
  EXPECT_EQ(waiting(), 1);
  EXPECT_EQ(heap::resident_memory(), kBlockSize);
  EXPECT_EQ(heap::memory_footprint(), 0);
  expect_valid("with a block that waits");
  size_t block = heap::acquire_block(BlockKind::kSmall);
  const core::BlockRecord& record = arena.blocks[block];
  const auto* words = reinterpret_cast<const uint64_t*>(arena.block_start(block));
  EXPECT_EQ(bytes_with_memory(words, kBlockSize), kBlockSize);
  EXPECT_TRUE(std::all_of(words, words + kBlockSize / sizeof *words, [](uint64_t word) { return word == 0; }));
  EXPECT_EQ(record.state.load(), BlockState::kLive);
  EXPECT_TRUE(record.backed);
  EXPECT_FALSE(record.dirty);
  EXPECT_EQ(waiting(), 0);
  EXPECT_EQ(taken(), 1);
  EXPECT_EQ(heap::block_counters.live.load(), 1);
  EXPECT_EQ(heap::block_counters.fresh.load(), 1);
  EXPECT_EQ(heap::block_counters.starting.load(), 0);
  EXPECT_EQ(heap::resident_memory(), kBlockSize);
}

TEST_P(PrefaultTest, NoMoreThanAtMost) {
  for (int i = 0; i < 3; i++) EXPECT_TRUE(heap::prefault_block(3));
  EXPECT_FALSE(heap::prefault_block(3));
  EXPECT_FALSE(heap::prefault_block(0));
  EXPECT_EQ(waiting(), 3);
  std::vector<size_t> blocks;
  for (int i = 0; i < 4; i++) blocks.push_back(heap::acquire_block(BlockKind::kSmall));
  std::sort(blocks.begin(), blocks.end());
  EXPECT_EQ(std::unique(blocks.begin(), blocks.end()), blocks.end());
  EXPECT_EQ(taken(), 3);
  EXPECT_EQ(heap::block_counters.fresh.load(), 4);
}

TEST_P(PrefaultTest, SmallHeapsHaveNone) {
  EXPECT_EQ(heap::prefaulted_at_most(0), 0);
  EXPECT_EQ(heap::prefaulted_at_most(15), 0);
  EXPECT_EQ(heap::prefaulted_at_most(16), 1);
  EXPECT_EQ(heap::prefaulted_at_most(1'000'000), 16);
}

// There, memory is to come from promotion.
TEST_P(PrefaultTest, SparseHeapsHaveNone) {
  core::knobs.promotion = true;
  std::vector<Object*> objects;
  for (int i = 0; i < 100'000; i++) objects.push_back(allocate(&bytes_type.table, 1000));
  EXPECT_GE(heap::blocks_to_prefault(), 2);
  for (size_t i = 0; i < objects.size(); i++) {
    if (i % 4 != 0) {
      ASSERT_EQ(heap::delete_object(objects[i]), DeleteResult::kDeleted);
    }
  }
  EXPECT_EQ(heap::blocks_to_prefault(), 0);
  core::knobs.promotion = false;
  EXPECT_GE(heap::blocks_to_prefault(), 2);
}

// Little of a block may be needed, or it is in another part of the heap.
TEST_P(PrefaultTest, IsForThreadsThatFillBlocks) {
  ASSERT_TRUE(heap::prefault_block(1));
  EXPECT_EQ(bytes_with_memory(arena.block_start(heap::acquire_block(BlockKind::kSmall, heap::BlockUse::kShared)), kBlockSize), 0);
  EXPECT_EQ(bytes_with_memory(arena.block_start(heap::acquire_block(BlockKind::kSmall, heap::BlockUse::kPromoted)), kBlockSize), 0);
  EXPECT_EQ(taken(), 0);
  EXPECT_EQ(bytes_with_memory(arena.block_start(heap::acquire_block(BlockKind::kLarge)), kBlockSize), kBlockSize);
  EXPECT_EQ(taken(), 1);
}

// Frames that are there already come first, and are no reason to prepare others.
TEST_P(PrefaultTest, NotBesideAPool) {
  auto bury = [](size_t block) {
    for (size_t page = 0; page < core::kPagesPerBlock; page++) {
      *reinterpret_cast<volatile uint8_t*>(arena.page_start(block * core::kPagesPerBlock + page)) = 1;
      heap::mark_page_dead(block * core::kPagesPerBlock + page);
    }
  };
  size_t block = heap::acquire_block(BlockKind::kSmall);
  ASSERT_TRUE(heap::prefault_block(1));
  bury(block);
  EXPECT_FALSE(heap::prefault_block(2));
  EXPECT_TRUE(arena.blocks[heap::acquire_block(BlockKind::kSmall)].dirty);
  EXPECT_EQ(waiting(), 1);
  EXPECT_FALSE(arena.blocks[heap::acquire_block(BlockKind::kSmall)].dirty);
  EXPECT_EQ(waiting(), 0);
  expect_valid("after a pool");
}

TEST_P(PrefaultTest, WhatNobodyTookGoesBack) {
  for (int i = 0; i < 3; i++) ASSERT_TRUE(heap::prefault_block(3));
  uint8_t* start = arena.block_start(heap::kSmallStart);
  heap::drop_prefaulted();
  EXPECT_EQ(waiting(), 0);
  EXPECT_EQ(heap::block_counters.starting.load(), 0);
  EXPECT_EQ(heap::resident_memory(), 0);
  uint64_t value;
  for (size_t block = 0; block < 3; block++) {
    EXPECT_EQ(arena.blocks[block].state.load(), BlockState::kGone);
    EXPECT_FALSE(core::try_load(reinterpret_cast<uint64_t*>(arena.block_start(block)), &value));
  }
  EXPECT_EQ(bytes_with_memory(start, kBlockSize), 0);
  EXPECT_GE(heap::acquire_block(BlockKind::kSmall), 3);
  expect_valid("after those that went");
  heap::drop_prefaulted();
  EXPECT_EQ(heap::block_counters.live.load(), 1);
}

// A thorough round leaves nothing that is not needed.
TEST_P(PrefaultTest, CollectionDropsIt) {
  ASSERT_TRUE(heap::prefault_block(1));
  heap::collect();
  EXPECT_EQ(waiting(), 0);
}

TEST_P(PrefaultTest, TheLimitComesFirst) {
  heap::set_limit(3 * kBlockSize);
  ASSERT_TRUE(heap::prefault_block(9));
  ASSERT_TRUE(heap::prefault_block(9));
  EXPECT_FALSE(heap::prefault_block(9));  // room for one is left to others
  // What waits does not keep anybody from what he asks for.
  EXPECT_NE(heap::acquire_block(BlockKind::kSmall, heap::BlockUse::kPromoted), heap::kNoBlock);
  EXPECT_EQ(waiting(), 2);
  size_t huge = heap::acquire_huge(2 * kBlockSize);
  EXPECT_NE(huge, heap::kNoBlock);
  EXPECT_EQ(waiting(), 0);
  EXPECT_FALSE(heap::prefault_block(9));
  EXPECT_EQ(heap::acquire_block(BlockKind::kSmall), heap::kNoBlock);
  heap::release_huge(huge);
  EXPECT_TRUE(heap::prefault_block(9));
  EXPECT_NE(heap::acquire_block(BlockKind::kSmall, heap::BlockUse::kShared), heap::kNoBlock);
  EXPECT_NE(heap::acquire_block(BlockKind::kSmall, heap::BlockUse::kShared), heap::kNoBlock);
  EXPECT_EQ(waiting(), 0);
}

// A page fault in a mapping holds up whoever changes it.
TEST_P(PrefaultTest, HasAMappingOfItsOwn) {
  size_t before = heap::acquire_block(BlockKind::kSmall);
  for (int i = 0; i < 4; i++) ASSERT_TRUE(heap::prefault_block(4));
  size_t behind = heap::acquire_block(BlockKind::kSmall, heap::BlockUse::kShared);
  ASSERT_EQ(behind, before + 5);
  for (size_t block = before + 1; block < behind; block++) {
    auto start = reinterpret_cast<uintptr_t>(arena.block_start(block));
    EXPECT_EQ(mapping_of(arena.block_start(block)), std::make_pair(start, start + kBlockSize)) << block;
  }
}

// It was refused: nothing waits, nothing is counted, the address is nobody's.
TEST_P(PrefaultTest, WhereTheKernelRefusesThereIsNone) {
  heap::acquire_block(BlockKind::kSmall, heap::BlockUse::kShared);  // with the tables for many
  for (const char* call : {"mprotect", "madvise"}) {
    size_t address = heap::lower_frontier();
    ASSERT_TRUE(os::inject_failures((std::string(call) + ":1+").c_str()));
    EXPECT_FALSE(heap::prefault_block(1)) << call;
    ASSERT_TRUE(os::inject_failures((std::string(call) + ":18446744073709551615").c_str()));
    EXPECT_EQ(waiting(), 0);
    EXPECT_EQ(heap::resident_memory(), kBlockSize);
    EXPECT_EQ(heap::lower_frontier(), address + 1);
    uint64_t value;
    EXPECT_FALSE(core::try_load(reinterpret_cast<uint64_t*>(arena.block_start(address)), &value));
  }
  EXPECT_TRUE(heap::prefault_block(1));
  expect_valid("after refusals");
}

INSTANTIATE_TEST_SUITE_P(, PrefaultTest, ::testing::Values(core::Protection::kAuto, core::Protection::kMprotect),
                         [](const auto& info) { return info.param == core::Protection::kAuto ? "Userfaultfd" : "Mprotect"; });

}  // namespace
}  // namespace freehold::testing
