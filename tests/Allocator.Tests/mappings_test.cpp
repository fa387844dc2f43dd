// Mappings run out: by the heap's own budget, or because somebody else has them.
#include "heap/mappings.h"

#include <sys/mman.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "heap/accounting.h"
#include "heap/addresses.h"
#include "heap/block_pool.h"
#include "heap/promotion.h"
#include "heap_fixture.h"

namespace freehold::testing {
namespace {

using core::arena;
using core::BlockKind;
using core::BlockState;
using core::kBlockSize;
using core::Object;

class MappingsTest : public HeapTest {
 protected:
  void configure(core::Knobs& knobs) override {
    knobs.protection = core::Protection::kUserfaultfd;
    knobs.address_space = uint64_t{8} << 40;
  }

  static bool is_readable(const void* address) {
    uint64_t value;
    return core::try_load(static_cast<const uint64_t*>(address), &value);
  }

  void be_thrifty() {
    core::knobs.map_budget = 1;
    heap::maintain(false, false);
    ASSERT_TRUE(heap::are_mappings_short());
  }

  // Marks all pages of a block dead, as the deletion of its last objects does.
  static void end_block(size_t block) {
    for (size_t page = 0; page < core::kPagesPerBlock; page++) heap::mark_page_dead(block * core::kPagesPerBlock + page);
  }
};

TEST_F(MappingsTest, TheBudgetOfUserfaultfdIsTheKernels) {
  EXPECT_EQ(heap::mapping_budget(), os::mappings_at_most() / 4 * 3);
  core::knobs.map_budget = 77;
  EXPECT_EQ(heap::mapping_budget(), 77u);
}

// Numbers that a test makes fail, or memory that is short, are no lack of mappings.
TEST_F(MappingsTest, ARefusalAloneEndsNothing) {
  allocate(&bytes_type.table, 1000);
  os::inject_failures("mprotect:1+");
  for (int i = 0; i < 10'000; i++) allocate(&bytes_type.table, 1000);
  os::inject_failures("mprotect:18446744073709551615");
  EXPECT_FALSE(heap::are_mappings_short());
}

// Recycling goes on until the budget is used up, and then needs no mapping any more; what was moved before stays where it is.
TEST_F(MappingsTest, FramesMoveUntilTheBudgetIsUsedUp) {
  size_t base = heap::count_mappings();
  core::knobs.map_budget = base + 200;
  constexpr uint32_t kLength = 1000;
  constexpr size_t kPerBlock = kBlockSize / 1024;
  std::vector<Object*> kept, dead;
  for (int round = 0; round < 40; round++) {
    std::vector<Object*> doomed;
    for (size_t i = 0; i < 20 * kPerBlock; i++) {
      doomed.push_back(allocate(&bytes_type.table, kLength));
      ASSERT_NE(doomed.back(), nullptr);
    }
    for (Object* object : doomed) heap::delete_object(object);
    dead.push_back(doomed[10 * kPerBlock]);
    for (size_t i = 0; i < 10 * kPerBlock; i++) {
      kept.push_back(allocate(&bytes_type.table, kLength));
      memset(reinterpret_cast<uint8_t*>(kept.back()) + 16, round + 1, kLength);
    }
    heap::maintain(false, false);
  }
  EXPECT_TRUE(heap::are_mappings_short());
  EXPECT_GT(heap::block_counters.recycled.load(), 50u);
  heap::maintain(true, false);
  // A round's blocks more than the budget: it is looked at once in a tick.
  EXPECT_LT(heap::count_mappings(), base + 200 + 80);
  expect_valid("beyond the budget");
  for (size_t i = 0; i < kept.size(); i++) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(kept[i]) + 16;
    ASSERT_EQ(bytes[0], i / (10 * kPerBlock) + 1);
    ASSERT_EQ(bytes[kLength - 1], bytes[0]);
  }
  for (Object* object : dead) EXPECT_FALSE(is_readable(object));
}

// A terabyte of addresses, every second block of which is dead: one mapping for all, not one for each. Nobody touches the blocks, as the test has no terabyte.
TEST_F(MappingsTest, ATerabyteOfBlocksTakesFewMappings) {
  heap::set_limit(uint64_t{2} << 40);
  be_thrifty();
  size_t base = heap::count_mappings();
  constexpr size_t kBlocks = (uint64_t{1} << 40) / kBlockSize;
  std::vector<size_t> blocks;
  for (size_t i = 0; i < kBlocks; i++) {
    size_t block = heap::acquire_block(BlockKind::kSmall);
    ASSERT_NE(block, heap::kNoBlock) << i;
    heap::let_record_go(block);
    arena.blocks[block].claimed.store(~uint64_t{0});
    arena.blocks[block].initialised.store(~uint64_t{0});  // as if they were full
    blocks.push_back(block);
  }
  for (size_t i = 0; i < kBlocks; i += 2) {
    end_block(blocks[i]);
    if (i % 4096 == 0) heap::trim_pool(0);
  }
  heap::trim_pool(0);
  EXPECT_EQ(heap::block_counters.live.load(), kBlocks / 2);
  EXPECT_LT(heap::count_mappings(), base + 2'000);
  for (size_t i = 100; i + 1 < kBlocks; i += 10'000) {
    EXPECT_FALSE(is_readable(arena.block_start(blocks[i / 2 * 2]))) << i;
    EXPECT_EQ(arena.blocks[blocks[i / 2 * 2]].state.load(), BlockState::kGone);
  }
}

// A live neighbour that is watched with a dead block loses nothing, and goes on to be used.
TEST_F(MappingsTest, NeighboursThatAreWatchedLiveOn) {
  be_thrifty();
  std::vector<Object*> all;
  for (size_t bytes = 0; bytes < 12 * kBlockSize; bytes += 1024) {
    all.push_back(allocate(&bytes_type.table, 1000));
    memset(reinterpret_cast<uint8_t*>(all.back()) + 16, 0x5a, 1000);
  }
  size_t middle = arena.block_index(reinterpret_cast<uintptr_t>(all[all.size() / 2]));
  std::vector<Object*> left;
  Object* dead = nullptr;
  for (Object* object : all) {
    if (arena.block_index(reinterpret_cast<uintptr_t>(object) + 1000) != middle && arena.block_index(reinterpret_cast<uintptr_t>(object)) != middle) {
      left.push_back(object);
    } else {
      dead = dead == nullptr && arena.block_index(reinterpret_cast<uintptr_t>(object)) == middle ? object : dead;
      heap::delete_object(object);
    }
  }
  heap::maintain(true, false);
  EXPECT_FALSE(is_readable(dead));
  for (Object* object : left) {
    auto* bytes = reinterpret_cast<uint8_t*>(object) + 16;
    ASSERT_EQ(bytes[0], 0x5a);
    memset(bytes, 0x11, 1000);
    ASSERT_EQ(heap::delete_object(object), heap::DeleteResult::kDeleted);
  }
  expect_valid("after all were deleted");
}

// Linux 6.13 has guards: what is dead is gone, and its memory, without a mapping. An older kernel leaves it as it is.
TEST_F(MappingsTest, DeadHugeObjectsBetweenLiveOnesTakeNoMappings) {
  be_thrifty();
  std::vector<Object*> huge;
  for (int i = 0; i < 400; i++) {
    huge.push_back(allocate(&bytes_type.table, 1'500'000));
    memset(reinterpret_cast<uint8_t*>(huge.back()) + 16, i, 1'500'000);
  }
  size_t before = heap::count_mappings(), resident = os::resident_set();
  for (size_t i = 0; i < huge.size(); i += 2) ASSERT_EQ(heap::delete_object(huge[i]), heap::DeleteResult::kDeleted);
  heap::maintain(true, false);
  uint8_t* page = static_cast<uint8_t*>(mmap(nullptr, core::kPageSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  bool has_guards = os::guard(page, core::kPageSize);
  munmap(page, core::kPageSize);
  if (has_guards) {
    EXPECT_LT(heap::count_mappings(), before + 20);
  }
  EXPECT_LT(os::resident_set(), resident - 200 * size_t{1'400'000});
  for (size_t i = 0; i < huge.size(); i++) {
    ASSERT_EQ(is_readable(huge[i]), i % 2 == 1) << i;
    if (i % 2 == 0) continue;
    ASSERT_EQ(*(reinterpret_cast<uint8_t*>(huge[i]) + 1'000'000), static_cast<uint8_t>(i));
  }
  expect_valid("with dead huge objects");
}

// As the first text of a stack trace needs it, which a program makes when it handles the exception.
TEST_F(MappingsTest, AfterAFailureAnArrayOfHundredsOfKilobytesHasRoom) {
  allocate(&bytes_type.table, 1000);
  be_thrifty();
  os::inject_failures("mprotect:1+,mremap:1+");
  while (allocate(&bytes_type.table, 60'000) != nullptr) continue;
  Object* array = allocate(&bytes_type.table, 700'000);
  os::inject_failures("mprotect:18446744073709551615,mremap:18446744073709551615");
  ASSERT_NE(array, nullptr);
  memset(reinterpret_cast<uint8_t*>(array) + 16, 1, 700'000);
  expect_valid("with an array in the reserve");
  EXPECT_EQ(heap::delete_object(array), heap::DeleteResult::kDeleted);
}

// Smaller allocations that still have room, between the failure and its handling, take nothing from the handling; and a program that goes on as before, and fails
// again and again, leaves room for each.
TEST_F(MappingsTest, EachFailureLeavesRoomForItsHandling) {
  for (int i = 0; i < 40'000; i++) ASSERT_NE(allocate(&bytes_type.table, 1000), nullptr);
  be_thrifty();
  os::inject_failures("mprotect:1+,mremap:1+");
  // The list of the program that fails grows.
  for (int failure = 0; failure < 25; failure++) {
    size_t grown = 100'000;
    while (allocate(&bytes_type.table, grown) != nullptr) grown = std::min<size_t>(grown * 2, 30'000'000);
    for (int i = 0; i < 20; i++) ASSERT_NE(allocate(&node_type.table), nullptr) << failure << ": what throws";
    Object* array = allocate(&bytes_type.table, 700'000);
    ASSERT_NE(array, nullptr) << failure << ": the first text";
    memset(reinterpret_cast<uint8_t*>(array) + 16, 1, 700'000);
    for (int i = 0; i < 100; i++) ASSERT_NE(allocate(&bytes_type.table, 1000), nullptr) << failure << ": what handles it";
    heap::delete_object(array);
    // Whatever of it was used: the next failure begins with all.
    for (int i = 0; i < failure * 50 && allocate(&bytes_type.table, 1000) != nullptr; i++) continue;
  }
  EXPECT_LT(heap::reserve_blocks(), 64u);
  os::inject_failures("mprotect:18446744073709551615,mremap:18446744073709551615");
  expect_valid("with failures that were handled");
}

// The same where memory is what is short; arrays take no more than half of what is there for emergencies.
TEST_F(MappingsTest, AtTheLimitAnArrayHasRoomAfterAFailure) {
  heap::set_limit(16 * kBlockSize);
  std::vector<Object*> all;
  for (int failure = 0; failure < 10; failure++) {
    while (Object* object = allocate(&bytes_type.table, 1000)) all.push_back(object);
    Object* array = allocate(&bytes_type.table, 700'000);
    ASSERT_NE(array, nullptr) << failure;
    for (int i = 0; i < 100; i++) all.push_back(allocate(&bytes_type.table, 1000));
    ASSERT_NE(all.back(), nullptr) << failure;
    EXPECT_LE(heap::resident_memory(), heap::limit() + heap::kEmergencyMemory);
    heap::delete_object(array);
    // Every second object: promotion has a block to begin with.
    for (size_t i = 0; i < all.size(); i++) {
      if (i % 2 == 0) heap::delete_object(all[i]);
      else all[i / 2] = all[i];
    }
    all.resize(all.size() / 2);
    heap::collect();
  }
  while (allocate(&bytes_type.table, 1000) != nullptr) continue;
  // One after the other, kept by a program that goes on: they do not take all.
  for (int i = 0; i < 100; i++) allocate(&bytes_type.table, 700'000);
  EXPECT_LE(heap::resident_memory(), heap::limit() + heap::kEmergencyMemory / 2 + kBlockSize);
  for (int i = 0; i < 20; i++) ASSERT_NE(allocate(&node_type.table), nullptr) << "what throws";
  expect_valid("at the limit");
}

// What an old failure left is not for later: a thread that allocates as ever has recovered.
TEST_F(MappingsTest, WhoRecoversTakesNothingFromTheReserve) {
  for (int i = 0; i < 40'000; i++) ASSERT_NE(allocate(&bytes_type.table, 1000), nullptr);
  be_thrifty();
  os::inject_failures("mprotect:1+,mremap:1+");
  while (allocate(&bytes_type.table, 30'000'000) != nullptr) continue;
  os::inject_failures("mprotect:18446744073709551615,mremap:18446744073709551615");
  for (int i = 0; i < 2'000; i++) ASSERT_NE(allocate(&bytes_type.table, 1000), nullptr);
  size_t before = heap::reserve_blocks();
  os::inject_failures("mprotect:1+,mremap:1+");
  while (allocate(&bytes_type.table, 30'000) != nullptr) continue;
  os::inject_failures("mprotect:18446744073709551615,mremap:18446744073709551615");
  EXPECT_EQ(heap::reserve_blocks(), before) << "the first failure is one";
}

// Addresses that nobody can use any more, or never did, are like all that is dead: neighbours are one mapping, whoever took them and why. Huge pages are on,
// since their hint is what mappings differ in.
class DeadAddressesTest : public MappingsTest, public ::testing::WithParamInterface<core::Protection> {
 protected:
  void configure(core::Knobs& knobs) override {
    MappingsTest::configure(knobs);
    knobs.protection = GetParam();
    knobs.huge_pages = true;
    knobs.promotion = true;
  }

  // Behind the first group, where the reserve is taken.
  void SetUp() override {
    MappingsTest::SetUp();
    for (size_t bytes = 0; bytes < 20 * kBlockSize; bytes += 1024) allocate(&bytes_type.table, 1000);
  }

  // Blocks of which each sixteenth object lives on, all of them promoted.
  void promote_sparse(size_t blocks) {
    std::vector<Object*> all;
    for (size_t bytes = 0; bytes < blocks * kBlockSize; bytes += 1024) all.push_back(allocate(&bytes_type.table, 1000));
    for (size_t i = 0; i < all.size(); i++) {
      if (i % 16 != 0) heap::delete_object(all[i]);
    }
    heap::promote(heap::PromotionScope::kAll);
  }

  // Without access, below the frontier and beside a mapping that differs in nothing but the hint: these would be one.
  static size_t parted() {
    struct Mapping {
      uintptr_t start, end;
      std::string rights, flags;
    };
    std::vector<Mapping> all;
    std::ifstream smaps("/proc/self/smaps");
    std::string line;
    uintptr_t first = reinterpret_cast<uintptr_t>(arena.block_start(0)), last = first + heap::lower_frontier() * kBlockSize;
    while (std::getline(smaps, line)) {
      unsigned long start, end;
      char rights[8];
      if (sscanf(line.c_str(), "%lx-%lx %7s", &start, &end, rights) == 3) all.push_back({start, end, rights, ""});
      else if (line.starts_with("VmFlags:")) all.back().flags = line;
    }
    size_t count = 0;
    for (size_t i = 1; i < all.size(); i++) {
      if (all[i].start >= first && all[i].start < last && all[i - 1].end == all[i].start && all[i].rights == "---p" && all[i - 1].rights == "---p" &&
          all[i].flags != all[i - 1].flags && all[i].end <= last)
        count++;
    }
    return count;
  }
};

TEST_P(DeadAddressesTest, WhatTheLimitRefusesTakesNoAddress) {
  for (core::BlockKind kind : {BlockKind::kSmall, BlockKind::kLarge}) {
    for (heap::BlockUse use : {heap::BlockUse::kOneThread, heap::BlockUse::kPromoted}) {
      size_t mapped = heap::count_mappings(), used = heap::addresses_used();
      constexpr size_t kTimes = 100;
      for (size_t i = 0; i < kTimes; i++) {
        heap::trim_pool(0);
        size_t block = heap::acquire_block(kind, use);
        ASSERT_NE(block, heap::kNoBlock);
        heap::let_record_go(block);
        size_t limit = heap::own_limit();
        heap::set_limit(1);
        for (int again = 0; again < 3; again++) EXPECT_EQ(heap::acquire_block(kind, use), heap::kNoBlock);
        heap::set_limit(limit);
        end_block(block);
      }
      heap::trim_pool(0);
      EXPECT_LT(heap::count_mappings(), mapped + 20);
      EXPECT_LE(heap::addresses_used() - used, (kTimes + 1) * kBlockSize);
    }
  }
}

TEST_P(DeadAddressesTest, WhatAFailedCallLeavesIsDeadLikeAllElse) {
  size_t mapped = heap::count_mappings();
  for (int i = 0; i < 60; i++) {
    size_t block = heap::acquire_block(BlockKind::kLarge);
    ASSERT_NE(block, heap::kNoBlock);
    heap::let_record_go(block);
    os::inject_failures("mprotect:1+");
    EXPECT_EQ(heap::acquire_block(BlockKind::kLarge, heap::BlockUse::kShared), heap::kNoBlock);
    os::inject_failures("mprotect:18446744073709551615");
    end_block(block);
    heap::trim_pool(0);
  }
  EXPECT_LT(heap::count_mappings(), mapped + 20);
}

// Blocks that promotion empties, with frames that move on and with memory that goes back.
TEST_P(DeadAddressesTest, WhatPromotionEmptiesIsOneMapping) {
  size_t parted_before = parted();
  for (int round = 0; round < 10; round++) {
    promote_sparse(80);
    heap::collapse_moved(0);
    EXPECT_LE(parted(), parted_before + 4) << round;
  }
  expect_valid("after promotions");
}

// Of a heap whose mappings are short: no frames move, and no address is taken for them.
TEST_P(DeadAddressesTest, PromotionTakesNoAddressThatItCannotUse) {
  be_thrifty();
  uint64_t before = heap::block_counters.fresh.load(), used = heap::addresses_used();
  for (int round = 0; round < 20; round++) promote_sparse(20);
  EXPECT_LE(heap::addresses_used() - used, (heap::block_counters.fresh.load() - before + 8) * kBlockSize);
  expect_valid("after promotions");
}

INSTANTIATE_TEST_SUITE_P(, DeadAddressesTest, ::testing::Values(core::Protection::kUserfaultfd, core::Protection::kMprotect),
                         [](const auto& param) { return std::string(param.param == core::Protection::kMprotect ? "mprotect" : "userfaultfd"); });

class UsedUpTest : public MappingsTest, public ::testing::WithParamInterface<core::Protection> {
 protected:
  void configure(core::Knobs& knobs) override {
    MappingsTest::configure(knobs);
    knobs.protection = GetParam();
  }

  static constexpr size_t kPieces = 140'000;
  uint8_t* region_ = nullptr;

  // Somebody takes all mappings but `left` of them.
  void use_up(size_t left) {
    region_ = static_cast<uint8_t*>(mmap(nullptr, kPieces * core::kPageSize, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    ASSERT_NE(region_, MAP_FAILED);
    size_t last = 0;
    for (size_t i = 1; i < kPieces && mprotect(region_ + i * core::kPageSize, core::kPageSize, PROT_READ) == 0; i += 2) last = i;
    if (last >= kPieces - 2) GTEST_SKIP() << "vm.max_map_count is larger than this test is made for";
    for (size_t i = 0; i < left / 2; i++) ASSERT_EQ(mprotect(region_ + (last - 2 * i) * core::kPageSize, core::kPageSize, PROT_NONE), 0);
  }

  void TearDown() override {
    if (region_ != nullptr) munmap(region_, kPieces * core::kPageSize);
    MappingsTest::TearDown();
  }
};

// What is next to memory that the heap has needs no mapping. What needs one is refused, and what throws the exception has memory.
TEST_P(UsedUpTest, WithoutAMappingAllocationsFailAndNothingElse) {
  std::vector<Object*> all;
  for (int i = 0; i < 30'000; i++) all.push_back(allocate(&bytes_type.table, 1000));
  for (size_t i = 0; i < all.size(); i++) {
    if (i % 3 != 0) heap::delete_object(all[i]);
  }
  ASSERT_NO_FATAL_FAILURE(use_up(0));
  if (IsSkipped()) return;
  size_t more = 0;
  for (; more < 100'000; more++) {
    Object* object = allocate(&bytes_type.table, 1000);
    if (object == nullptr) break;
    *(reinterpret_cast<uint8_t*>(object) + 500) = 1;
    if (more % 2 == 0) heap::delete_object(object);
  }
  // A huge object is somewhere else.
  Object* huge = allocate(&bytes_type.table, 30'000'000);
  if (more == 100'000) {
    EXPECT_EQ(huge, nullptr) << "the test has left mappings";
  }
  for (int i = 0; i < 20; i++) EXPECT_NE(allocate(&bytes_type.table, 300), nullptr) << "what throws an OutOfMemoryException";
  for (size_t i = 0; i < all.size(); i += 3) EXPECT_EQ(heap::delete_object(all[i]), heap::DeleteResult::kDeleted);
  heap::maintain(true, false);
  expect_valid("without mappings");
  munmap(region_, kPieces * core::kPageSize);
  region_ = nullptr;
  EXPECT_NE(allocate(&bytes_type.table, 30'000'000), nullptr);
  for (int i = 0; i < 10'000; i++) ASSERT_NE(allocate(&bytes_type.table, 1000), nullptr);
  expect_valid("with mappings again");
}

TEST_P(UsedUpTest, WithSixtyThousandOfOthersTheHeapGrowsOn) {
  ASSERT_NO_FATAL_FAILURE(use_up(400));
  if (IsSkipped()) return;
  std::vector<Object*> kept;
  for (int round = 0; round < 30; round++) {
    std::vector<Object*> doomed;
    for (int i = 0; i < 20'000; i++) doomed.push_back(allocate(&bytes_type.table, 1000));
    for (Object* object : doomed) {
      ASSERT_NE(object, nullptr) << round;
      heap::delete_object(object);
    }
    for (int i = 0; i < 10'000; i++) kept.push_back(allocate(&bytes_type.table, 1000));
    ASSERT_NE(kept.back(), nullptr) << round;
    heap::maintain(false, false);
  }
  expect_valid("in a heap of 300 MB");
  for (Object* object : kept) ASSERT_EQ(heap::delete_object(object), heap::DeleteResult::kDeleted);
  heap::maintain(true, false);
  expect_valid("at the end");
}

// Memory is there: the first refusal frees the mappings that the heap has kept to spare, and a run of blocks somewhere else goes on with them.
TEST_P(UsedUpTest, SpareMappingsAreForTheFirstRefusal) {
  std::vector<Object*> all;
  for (int i = 0; i < 40'000; i++) all.push_back(allocate(&bytes_type.table, 1000));
  heap::maintain(false, false);
  ASSERT_NO_FATAL_FAILURE(use_up(0));
  if (IsSkipped()) return;
  std::vector<Object*> huge;
  for (int i = 0; i < 20; i++) {
    huge.push_back(allocate(&bytes_type.table, 3'000'000));
    ASSERT_NE(huge.back(), nullptr) << i;
  }
  EXPECT_TRUE(heap::are_mappings_short());
  for (int i = 0; i < 40'000; i++) {
    all.push_back(allocate(&bytes_type.table, 1000));
    ASSERT_NE(all.back(), nullptr) << i;
  }
  expect_valid("with the spare mappings");
  for (Object* object : huge) EXPECT_EQ(heap::delete_object(object), heap::DeleteResult::kDeleted);
  for (Object* object : all) EXPECT_EQ(heap::delete_object(object), heap::DeleteResult::kDeleted);
  heap::maintain(true, false);
  expect_valid("at the end");
}

// The blocks that are mapped from the start are used when nothing else is to be had, and are a part of the heap like others.
TEST_P(UsedUpTest, TheReserveIsThere) {
  allocate(&bytes_type.table, 1000);
  os::inject_failures("mprotect:1+,mremap:1+");
  while (allocate(&bytes_type.table, 30'000) != nullptr) continue;
  std::vector<Object*> thrown;
  for (int i = 0; i < 100; i++) {
    Object* object = allocate(&node_type.table);
    if (object != nullptr) thrown.push_back(object);
  }
  os::inject_failures("mprotect:18446744073709551615,mremap:18446744073709551615");
  EXPECT_GT(thrown.size(), 50u);
  expect_valid("with objects in the reserve");
  for (Object* object : thrown) EXPECT_EQ(heap::delete_object(object), heap::DeleteResult::kDeleted);
}

INSTANTIATE_TEST_SUITE_P(, UsedUpTest, ::testing::Values(core::Protection::kUserfaultfd, core::Protection::kMprotect),
                         [](const auto& info) { return info.param == core::Protection::kUserfaultfd ? "Userfaultfd" : "Mprotect"; });

// An allocation that fails while its failure is thrown is thrown again, deeper in the stack. Not for ever: with no memory at all the stack would overflow.
class EndlessFailureDeathTest : public HeapTest {
 protected:
  // Frames as large as a dispatch has them. Calls itself after each failure, as throwing does.
  [[gnu::noinline]] int fail(int depth) {
    volatile char frame[1024];
    frame[0] = 0;
    EXPECT_EQ(allocate(&bytes_type.table, 30'000), nullptr);
    int below = depth == 0 ? 0 : fail(depth - 1);
    return below + 1 + frame[0];
  }
};

TEST_F(EndlessFailureDeathTest, EndsTheProcess) {
  os::inject_failures("mmap:1+,mprotect:1+");
  // The first failure gives the thread the memory for emergencies, of which there is none.
  for (int again = 0; again < 100; again++) EXPECT_EQ(fail(0), 1);
  EXPECT_EQ(fail(20), 21);
  EXPECT_EQ(fail(20), 21) << "those of before are over";
  EXPECT_DEATH(fail(60), "nothing is left to throw an OutOfMemoryException with");
}

}  // namespace
}  // namespace freehold::testing
