// Blocks and pages in the marking beside the threads: which are marked in, which are walked, which die whole (heap/unreached_pages.h, heap/new_blocks.h).
#include <set>
#include <vector>

#include "concurrent_reclaim_fixture.h"
#include "heap/accounting.h"
#include "heap/dead_pages.h"
#include "heap/promotion_policy.h"

namespace freehold::testing::beside {
namespace {

class UnreachedPagesTest : public ConcurrentReclaimTest {};

// They begin between the first look at the blocks and the stop: few, and more than are noted.
TEST_F(UnreachedPagesTest, BlocksThatBeginBeforeTheFirstStopAreCovered) {
  static heap::AllocationContext* context;
  static Object* root;
  static std::vector<Object*> found;
  static size_t blocks;
  context = &context_;
  for (size_t more : {size_t{0}, size_t{3}, heap::NewBlocks::kAtMost + 10}) {
    blocks = more;
    root = allocate(&references_type.table, static_cast<uint32_t>(2 * blocks + 4));
    Object* last = node();
    mine_ = {root, last};
    in_stop = [] {
      if (stops % 2 == 0) return;
      size_t word = 2;
      for (size_t i = 0; i < blocks; i++) {
        Object* huge = allocate_with(context, &references_type.table, 200'000);
        Object* small = allocate_with(context, &node_type.table);
        words(huge)[2 + i % 100] = address(small);
        words(root)[word++] = address(huge);
        found.push_back(small);
      }
    };
    found.clear();
    EXPECT_EQ(heap::reclaim(), 0) << more;
    in_stop = nullptr;
    for (Object* object : found) ASSERT_FALSE(heap::is_deleted(object)) << more;
    mine_.clear();
    EXPECT_EQ(heap::reclaim(), static_cast<int64_t>(2 + 2 * found.size())) << more;
  }
  expect_valid("after the deletions");
}

// A thread that has seen an older wish, and stores late, takes the place of one that has seen this one.
TEST_F(UnreachedPagesTest, ALateNoteOfABlockIsNoNote) {
  auto take = [](std::vector<size_t>* blocks) {
    return heap::take_new_blocks([](size_t block, void* blocks) noexcept { static_cast<std::vector<size_t>*>(blocks)->push_back(block); }, blocks);
  };
  std::vector<size_t> blocks;
  heap::want_new_blocks();
  heap::note_new_block(7);
  uint64_t late = heap::new_blocks.block[0].load();
  EXPECT_TRUE(take(&blocks));
  EXPECT_EQ(blocks, std::vector<size_t>{7});
  heap::note_new_block(8);  // nobody wants it
  heap::want_new_blocks();
  heap::note_new_block(9);
  heap::new_blocks.block[0].store(late);
  blocks.clear();
  EXPECT_FALSE(take(&blocks));
  EXPECT_TRUE(blocks.empty());
}

// Blocks of which nothing is reached, all, and some; a part was deleted before. The figures say what each object would have said.
TEST_F(UnreachedPagesTest, BlocksDieWholeOrStayWhole) {
  constexpr size_t kOfBlock = core::kBlockSize / 40, kBlocks = 12;
  Object* array = allocate(&references_type.table, 13 * kOfBlock);
  mine_ = {array};
  std::vector<Object*> made;
  for (size_t i = 0; i < kBlocks * kOfBlock; i++) made.push_back(node());
  // Thirds of blocks: each third block is kept as a whole, and one object of another.
  auto third = [&](size_t i) { return i / (3 * kOfBlock); };
  int64_t lost = 0;
  uint64_t deleted = 0;
  std::vector<Object*> gone;
  for (size_t i = 0; i < made.size(); i++) {
    if (third(i) == 1 || i == made.size() - 1) {
      words(array)[2 + i] = address(made[i]);
    } else if (i % 5 == 0 && third(i) == 2) {
      ASSERT_EQ(heap::delete_object(made[i]), DeleteResult::kDeleted);
      deleted++;
    } else {
      lost++;
      gone.push_back(made[i]);
    }
  }
  *gone[kOfBlock]->sync_word() = core::kSyncIsHashOrIndex | 9;
  heap::ThreadTotals before = heap::thread_totals();
  uint64_t live_blocks = heap::block_counters.live.load();
  EXPECT_EQ(heap::reclaim(), lost);
  heap::ThreadTotals after = heap::thread_totals();
  EXPECT_EQ(after.deleted_objects - before.deleted_objects, static_cast<uint64_t>(lost));
  EXPECT_EQ(after.deleted_bytes - before.deleted_bytes, static_cast<uint64_t>(lost) * 40);
  EXPECT_LE(heap::block_counters.live.load(), live_blocks - 6);
  EXPECT_EQ(heap::take_dead_lock(), 9u);
  EXPECT_EQ(heap::take_dead_lock(), 0u);
  for (Object* object : gone) ASSERT_TRUE(heap::is_deleted(object));
  for (size_t i = 0; i < made.size(); i++) {
    bool kept = words(array)[2 + i] != 0;
    ASSERT_FALSE(kept && heap::is_deleted(made[i]));
  }
  expect_valid("after the deletion");
  // What nothing was found in the first time may be lost now.
  memset(words(array) + 2, 0, 12 * kOfBlock * sizeof(uint64_t));
  EXPECT_EQ(heap::reclaim(), static_cast<int64_t>(made.size()) - lost - static_cast<int64_t>(deleted));
  expect_valid("after all are deleted");
}

// On each page one object lives at most: the one that begins where the page does, or with its last words, or with its last one, so that its mark is the next page's; or any.
TEST_F(UnreachedPagesTest, OneObjectOfAPageLives) {
  for (size_t place : {size_t{0}, core::kPageSize - 8, core::kPageSize - 16, core::kPageSize - 32, size_t{2008}}) {
    mine_.clear();
    heap::reclaim();
    std::vector<Object*> made;
    for (size_t i = 0; i < 4 * core::kBlockSize / 40; i++) made.push_back(node());
    std::set<Object*> kept;
    for (Object* object : made) {
      if ((address(object) - core::kHeaderSize) % core::kPageSize == place) kept.insert(object);
    }
    ASSERT_GT(kept.size(), 100u) << place;
    mine_.assign(kept.begin(), kept.end());
    EXPECT_EQ(heap::reclaim(), static_cast<int64_t>(made.size() - kept.size())) << place;
    for (Object* object : made) ASSERT_EQ(heap::is_deleted(object), !kept.contains(object)) << place;
    expect_valid("after the deletion");
  }
}

// No object of such a page counts as deleted by itself: a heap that nobody deletes from was never compacted.
TEST_F(UnreachedPagesTest, BlocksOfDeadPagesAreCompacted) {
  core::knobs.promotion = true;
  constexpr size_t kBlocks = 24, kPagesBetween = 20;
  std::vector<Object*> made;
  for (size_t i = 0; i < kBlocks * core::kBlockSize / 40; i++) made.push_back(node());
  size_t last = 0;
  for (Object* object : made) {
    size_t page = core::arena.page_index(address(object));
    if (page < last + kPagesBetween) continue;
    mine_.push_back(object);
    last = page;
  }
  EXPECT_GT(heap::reclaim(), 0);
  ASSERT_EQ(heap::block_counters.released_pages.load(), 0u);
  EXPECT_GT(heap::memory_footprint(), (kBlocks - 4) * core::kBlockSize);
  EXPECT_TRUE(heap::is_heap_fragmented());
  EXPECT_GT(heap::promote(heap::PromotionScope::kFragmented), mine_.size() / 2);
  EXPECT_LT(heap::memory_footprint(), heap::kSlack);
  expect_valid("after the round");
}

// What has lost its memory already is not won again: every other run of eight pages dies and is released, the others live as a whole.
TEST_F(UnreachedPagesTest, PagesWithoutMemoryAreNoGain) {
  core::knobs.promotion = true;
  std::vector<Object*> made;
  for (size_t i = 0; i < 8 * core::kBlockSize / 40; i++) made.push_back(node());
  for (Object* object : made) {
    if (core::arena.page_index(address(object)) / 8 % 2 == 0) mine_.push_back(object);
  }
  EXPECT_GT(heap::reclaim(), 0);
  {
    heap::MaintenancePause pause;
    for (size_t block = core::arena.block_index(address(made.front())); block <= core::arena.block_index(address(made.back())); block++) {
      if (core::arena.blocks[block].state.load() == core::BlockState::kLive) heap::release_dead_pages(block, 1);
    }
  }
  ASSERT_GT(heap::block_counters.released_pages.load(), 5 * core::kPagesPerBlock / 2);
  EXPECT_EQ(heap::promote(heap::PromotionScope::kSparse), 0u) << "copies that give nothing back";
  expect_valid("after the round");
  // Now half of what lives dies too.
  for (size_t i = 0; i < mine_.size(); i++) {
    if (i % 2 == 0) mine_[i] = nullptr;
  }
  EXPECT_GT(heap::reclaim(), 0);
  EXPECT_GT(heap::promote(heap::PromotionScope::kSparse), 0u);
  expect_valid("after the second round");
}

// They move, and are found where they are.
TEST_F(UnreachedPagesTest, FinalizableObjectsAreFoundAfterTheyMoved) {
  core::knobs.promotion = true;
  std::vector<Object*> made;
  for (size_t i = 0; i < 3 * core::kBlockSize / 40; i++) made.push_back(node({}, i % 1000 == 0 ? &finalizable_node_type.table : &node_type.table));
  mine_ = made;
  for (size_t i = 0; i < made.size(); i++) {
    if (i % 1000 == 0) continue;
    ASSERT_EQ(heap::delete_object(made[i]), DeleteResult::kDeleted);
    mine_[i] = nullptr;
  }
  EXPECT_GT(heap::promote(heap::PromotionScope::kAll), 100u);
  expect_valid("after they moved");
  mine_.clear();
  EXPECT_EQ(heap::reclaim(), 0);
  EXPECT_EQ(heap::finalizable_count(), (made.size() + 999) / 1000);
}

}  // namespace
}  // namespace freehold::testing::beside
