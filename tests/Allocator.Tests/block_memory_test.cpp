// Which memory blocks hold: of idle threads, incomplete and shared blocks, and of those that are recycled.
#include <sys/mman.h>

#include <algorithm>

#include "heap_fixture.h"

namespace freehold::testing {
namespace {

using core::Object;
using heap::AddressState;
using heap::DeleteResult;

// A thread that idles does not hold the rest of its block; when it goes on, it finds its chunk ended.
TEST_F(HeapTest, AnIdleThreadKeepsLittle) {
  std::vector<Object*> objects;
  auto churn = [&](int count) {
    for (int i = 0; i < count; i++) {
      objects.push_back(allocate(&small_type.table));
      if (objects.size() > 10'000) {
        ASSERT_EQ(heap::delete_object(objects[objects.size() - 10'001]), DeleteResult::kDeleted);
        objects[objects.size() - 10'001] = nullptr;
      }
    }
  };
  churn(600'000);
  for (Object* object : objects) {
    if (object != nullptr) {
      ASSERT_EQ(heap::delete_object(object), DeleteResult::kDeleted);
    }
  }
  objects.clear();
  for (int round = 0; round < 4; round++) heap::maintain(false, false);
  EXPECT_LT(heap::resident_bytes(), core::kBlockSize + (core::kBlockSize / 4)) << "the first, shared block and a window or two";
  expect_valid("idle");
  churn(100'000);
  EXPECT_FALSE(HasFatalFailure());
  expect_valid("going on");
}

// Its block may be of new memory as well: a huge page has memory to its end, whatever of it was used.
TEST_F(HeapTest, AnIdleThreadKeepsLittleOfNewMemory) {
  std::vector<Object*> objects;
  auto block_of = [](Object* object) { return core::arena.block_index(reinterpret_cast<uintptr_t>(object)); };
  do objects.push_back(allocate(&small_type.table));
  while (block_of(objects.back()) < 6 || block_of(objects.back()) == block_of(objects.end()[-2]));  // up to the first object of a block
  ASSERT_EQ(heap::block_counters.recycled.load(), 0u);
  for (Object* object : objects) ASSERT_EQ(heap::delete_object(object), DeleteResult::kDeleted);
  for (int round = 0; round < 12; round++) heap::maintain(false, false);  // the pool is trimmed after eight
  EXPECT_LT(heap::resident_bytes(), core::kBlockSize / 4);
  expect_valid("idle");
  EXPECT_NE(allocate(&small_type.table), nullptr);
}

class IncompleteBlockTest : public HeapTest, public ::testing::WithParamInterface<core::Protection> {
  void configure(core::Knobs& knobs) override { knobs.protection = GetParam(); }
};

// A block that is not used up gives dead pages back as well, and the windows that a thread has not begun; what is allocated there next finds its own.
TEST_P(IncompleteBlockTest, GivesDeadPagesBack) {
  heap::AllocationContext others[2] = {};
  auto windows_of = [](heap::AllocationContext* context, size_t windows) {
    std::vector<Object*> objects;
    for (size_t bytes = 0; bytes + 1024 <= windows * core::kWindowSize; bytes += 1024) objects.push_back(allocate_with(context, &bytes_type.table, 1000));
    return objects;
  };
  auto delete_all = [](const std::vector<Object*>& objects) {
    for (Object* object : objects) ASSERT_EQ(heap::delete_object(object), DeleteResult::kDeleted);
  };
  auto released = [] { return heap::block_counters.released_pages.load() * core::kPageSize; };
  auto rest = [] {
    for (int round = 0; round < 3; round++) heap::maintain(false, false);
    expect_valid("at rest");
  };
  // Chunks of 1, 2 and 4 windows; then one of two windows whose second is not begun, and others behind it.
  std::vector<Object*> first = windows_of(&context_, 7);
  std::vector<Object*> next = windows_of(&others[0], 2), behind = windows_of(&others[1], 3);
  size_t block = core::arena.block_index(reinterpret_cast<uintptr_t>(first.front()));
  ASSERT_EQ(core::arena.block_index(reinterpret_cast<uintptr_t>(behind.back())), block);
  Object* kept = first.back();
  first.pop_back();
  delete_all(first);
  delete_all(behind);
  EXPECT_EQ(released(), 0u);
  rest();
  EXPECT_GT(released(), 10 * core::kWindowSize);
  EXPECT_LT(released(), 11 * core::kWindowSize);
  EXPECT_EQ(heap::classify(first.front()), AddressState::kDead);
  EXPECT_EQ(heap::delete_object(first.front()), DeleteResult::kDangling);
  EXPECT_EQ(heap::delete_object(kept), DeleteResult::kDeleted);
  // Allocation goes on in the same block; who was idle takes small chunks again.
  std::vector<Object*> later = windows_of(&others[0], 1), more = windows_of(&context_, 10);
  for (Object* object : {later.back(), more.back()}) EXPECT_EQ(core::arena.block_index(reinterpret_cast<uintptr_t>(object)), block);
  EXPECT_EQ(static_cast<uint8_t*>(others[0].chunk_end) - later.front()->start(), static_cast<ptrdiff_t>(core::kWindowSize));
  for (Object* object : more) {
    const auto* data = reinterpret_cast<const uint8_t*>(object) + 16;
    ASSERT_TRUE(std::all_of(data, data + 1000, [](uint8_t byte) { return byte == 0; }));
  }
  for (Object* object : next) {
    EXPECT_EQ(heap::classify(object), AddressState::kLive);
    EXPECT_EQ(object->length, 1000u);
  }
  rest();
  delete_all(next);
  delete_all(later);
  delete_all(more);
  for (heap::AllocationContext& other : others) heap::retire(&other);
  rest();
  EXPECT_GT(released(), 20 * core::kWindowSize);
}

INSTANTIATE_TEST_SUITE_P(Protections, IncompleteBlockTest, ::testing::Values(core::Protection::kUserfaultfd, core::Protection::kMprotect),
                         [](const auto& info) { return info.param == core::Protection::kUserfaultfd ? "Userfaultfd" : "Mprotect"; });

// Little may be needed of a shared block: it does not begin with a huge page.
TEST_F(HeapTest, ASharedBlockHasMemoryWhereItIsUsed) {
  std::vector<heap::AllocationContext> threads(3 * core::kWindowsPerBlock);
  Object* last = nullptr;
  for (heap::AllocationContext& thread : threads) {
    last = allocate_with(&thread, &small_type.table);
    if (core::arena.block_index(reinterpret_cast<uintptr_t>(last)) == 2) break;
  }
  uint8_t* start = core::arena.block_start(core::arena.block_index(reinterpret_cast<uintptr_t>(last)));
  ASSERT_EQ(start, core::arena.block_start(2)) << "the first whose address has huge pages";
  std::vector<unsigned char> resident(core::kPagesPerBlock);
  ASSERT_EQ(mincore(start, core::kBlockSize, resident.data()), 0);
  EXPECT_EQ(std::count_if(resident.begin(), resident.end(), [](unsigned char page) { return (page & 1) != 0; }),
            static_cast<ptrdiff_t>(core::kWindowSize / core::kPageSize));
  for (heap::AllocationContext& thread : threads) heap::retire(&thread);
}

// The block that threads take small chunks from is another one when it has memory to its end, which it had from a block that died.
TEST_F(HeapTest, AnIdleSharedBlockWithMemoryIsReplaced) {
  heap::AllocationContext owner = {}, late = {};
  std::vector<Object*> objects;
  auto delete_all = [&] {
    for (Object* object : objects) ASSERT_EQ(heap::delete_object(object), DeleteResult::kDeleted);
    objects.clear();
  };
  // Past the shared blocks, so that a whole block dies and is pooled; then what is left of the first shared block, and the next.
  for (int i = 0; i < 6 * 2048; i++) objects.push_back(allocate_with(&owner, &bytes_type.table, 1000));
  delete_all();
  ASSERT_GT(heap::block_counters.pooled.load(), 0u);
  for (size_t i = 0; i <= core::kWindowsPerBlock && heap::block_counters.recycled.load() == 0; i++) {
    heap::AllocationContext thread = {};
    objects.push_back(allocate_with(&thread, &bytes_type.table, 30'000));
    heap::retire(&thread);
  }
  Object* kept = allocate_with(&late, &bytes_type.table, 100);
  delete_all();
  size_t shared_block = core::arena.block_index(reinterpret_cast<uintptr_t>(kept));
  ASSERT_TRUE(core::arena.blocks[shared_block].dirty);
  for (int round = 0; round < 12; round++) heap::maintain(false, false);  // until the pool is empty
  expect_valid("at rest");
  EXPECT_GE(heap::block_counters.released_pages.load(), core::kPagesPerBlock - 2 * core::kWindowSize / core::kPageSize);
  EXPECT_EQ(heap::classify(kept), AddressState::kLive);
  Object* more = allocate_with(&late, &bytes_type.table, 30'000);  // the rest of its window
  Object* next = allocate_with(&late, &bytes_type.table, 30'000);
  EXPECT_NE(core::arena.block_index(reinterpret_cast<uintptr_t>(next)), shared_block);
  EXPECT_FALSE(core::arena.blocks[core::arena.block_index(reinterpret_cast<uintptr_t>(next))].dirty);
  EXPECT_EQ(heap::delete_object(kept), DeleteResult::kDeleted);
  EXPECT_EQ(heap::delete_object(more), DeleteResult::kDeleted);
  EXPECT_EQ(heap::delete_object(next), DeleteResult::kDeleted);
  heap::retire(&owner);
  heap::retire(&late);
  expect_valid("at the end");
}

// Frames wait for their next use as long as some ticks of maintenance have all been able to do without them.
TEST_F(HeapTest, FramesThatAreNeededNowAndThenStay) {
  heap::AllocationContext owner = {};
  auto use_blocks = [&](size_t blocks) {
    std::vector<Object*> objects;
    for (size_t i = 0; i < blocks * 2048; i++) objects.push_back(allocate_with(&owner, &bytes_type.table, 1000));
    for (Object* object : objects) ASSERT_EQ(heap::delete_object(object), DeleteResult::kDeleted);
  };
  use_blocks(10);
  uint64_t most = heap::block_counters.pooled.load();
  ASSERT_GT(most, 4u);
  uint64_t fresh = heap::block_counters.fresh.load();
  for (int cycle = 0; cycle < 10; cycle++) {
    for (int tick = 0; tick < 6; tick++) EXPECT_EQ(heap::trim_pool(heap::pool_without_surplus()), 0u) << "cycle " << cycle << ", tick " << tick;
    use_blocks(most);
  }
  EXPECT_LE(heap::block_counters.fresh.load(), fresh + 2);
  size_t trimmed = 0;
  for (int tick = 0; tick < 9; tick++) trimmed += heap::trim_pool(heap::pool_without_surplus());
  EXPECT_GT(trimmed, 0u);
  EXPECT_EQ(heap::block_counters.pooled.load(), 0u);
  heap::retire(&owner);
  expect_valid("at the end");
}

// Addresses whose frames have moved on keep their tables until many have, or until nobody takes a block any more.
TEST_F(HeapTest, EmptyAddressesGoWhenTheProgramRests) {
  heap::AllocationContext owner = {};
  auto use_blocks = [&](size_t blocks) {
    for (size_t i = 0; i < blocks * 2048; i++) ASSERT_EQ(heap::delete_object(allocate_with(&owner, &bytes_type.table, 1000)), DeleteResult::kDeleted);
  };
  use_blocks(20);
  heap::maintain(false, false);
  use_blocks(20);
  ASSERT_GT(heap::block_counters.moved.load(), 20u);
  heap::maintain(false, false);
  EXPECT_GT(heap::block_counters.moved.load(), 20u) << "it was at work";
  heap::maintain(false, false);
  EXPECT_EQ(heap::block_counters.moved.load(), 0u);
  heap::retire(&owner);
  expect_valid("at the end");
}

// A block's frames may lack pages: those of a filler on fresh memory. A large object there has all of its own, or it would lose them to userfaultfd when
// the block is watched.
TEST_F(HeapTest, LargeObjectsInRecycledBlocksHaveTheirMemory) {
  core::knobs.huge_pages = false;
  core::knobs.stress.deletion = 1'000'000'000;  // blocks of one chunk and a filler
  heap::AllocationContext thread = {};
  std::vector<Object*> objects;
  for (int i = 0; i < 40; i++) objects.push_back(allocate_with(&thread, &bytes_type.table, 30'000));
  for (Object* object : objects) ASSERT_EQ(heap::delete_object(object), DeleteResult::kDeleted);
  heap::retire(&thread);
  core::knobs.stress.deletion = 0;
  ASSERT_GT(heap::block_counters.pooled.load(), 2u);
  for (uint32_t flags : {uint32_t{heap::kAllocZeroingOptional}, uint32_t{0}}) {
    constexpr size_t kSize = 800'000;
    Object* large = static_cast<Object*>(heap::allocate(&context_, kSize, flags));
    ASSERT_NE(large, nullptr);
    ASSERT_TRUE(core::arena.blocks[core::arena.block_index(reinterpret_cast<uintptr_t>(large))].dirty);
    auto* start = reinterpret_cast<uint8_t*>(large) - core::kHeaderSize;
    std::vector<unsigned char> resident((kSize + core::kPageSize - 1) / core::kPageSize);
    ASSERT_EQ(mincore(start, kSize, resident.data()), 0);
    EXPECT_EQ(std::count_if(resident.begin(), resident.end(), [](unsigned char page) { return (page & 1) == 0; }), 0);
    // What the type says must be the size.
    large->type = &bytes_type.table;
    large->length = static_cast<uint32_t>(kSize - bytes_type.table.base_size);
    ASSERT_EQ(large->size(), kSize);
    ASSERT_EQ(heap::delete_object(large), DeleteResult::kDeleted);
  }
  expect_valid("at the end");
}

// Where promotion has too little to gain, a block of which little lives loses its dead pages once nobody deletes from it.
TEST_F(HeapTest, ASparseBlockOfASmallHeapLosesItsDeadPages) {
  std::vector<Object*> objects;
  for (int i = 0; i < 4 * 2048; i++) objects.push_back(allocate(&bytes_type.table, 1000));
  size_t block = core::arena.block_index(reinterpret_cast<uintptr_t>(objects[5000]));
  ASSERT_EQ(core::arena.blocks[block].claimed.load(), ~uint64_t{0});
  auto released = [&] {
    size_t pages = 0;
    for (const auto& word : core::arena.blocks[block].released) pages += static_cast<size_t>(__builtin_popcountll(word.load()));
    return pages;
  };
  for (size_t i = 0; i < objects.size(); i++) {
    if (i != 5000 && core::arena.block_index(reinterpret_cast<uintptr_t>(objects[i])) == block) {
      ASSERT_EQ(heap::delete_object(objects[i]), DeleteResult::kDeleted);
    }
  }
  heap::maintain(false, false);
  EXPECT_EQ(released(), 0u) << "it may be dying";
  heap::maintain(false, false);
  EXPECT_GT(released(), core::kPagesPerBlock - 40);
  EXPECT_EQ(heap::classify(objects[5000]), AddressState::kLive);
  expect_valid("with one object");
}
}  // namespace
}  // namespace freehold::testing
