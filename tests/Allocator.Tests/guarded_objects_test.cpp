// FREEHOLD_SAMPLE: guarded objects lie on pages of their own, which go with them, however they end; what is known of them and what they hold is bounded.
#include "heap/guarded_objects.h"

#include <algorithm>
#include <map>
#include <random>

#include "core/stop_request.h"
#include "guarded_fixture.h"
#include "heap/graph_deletion.h"
#include "heap/guarded_blocks.h"
#include "heap/guarded_choice.h"
#include "heap/maintenance_signals.h"
#include "heap/mappings.h"
#include "heap/pin_release.h"
#include "heap/promotion.h"
#include "heap/reachability.h"

namespace freehold::testing {
namespace {

using heap::DeleteResult;

TEST_F(GuardedTest, APageGoesWithItsObjectAndBothStacksAreKept) {
  Object* object = node();
  Object* neighbour = node();
  ASSERT_TRUE(is_guarded(object) && is_guarded(neighbour));
  EXPECT_NE(core::arena.page_index(address(object)), core::arena.page_index(address(neighbour)));
  EXPECT_EQ(alive(), 2u);
  EXPECT_EQ(history(object).type, nullptr);
  expect_valid("two guarded objects");
  EXPECT_EQ(heap::delete_object(object), DeleteResult::kDeleted);
  EXPECT_FALSE(is_readable(object));
  EXPECT_TRUE(is_readable(neighbour));
  EXPECT_EQ(history(object).type, &node_type.table);
  EXPECT_EQ(history(neighbour).type, nullptr);
  EXPECT_EQ(stack(history(object).allocated), Stack{0xa110c});
  EXPECT_EQ(stack(history(object).deleted), Stack{0xde1});
  EXPECT_EQ(alive(), 1u);
  EXPECT_EQ(held(), 1u);
  expect_valid("one of them deleted");
}

TEST_F(GuardedTest, ASecondDeletionAndAUseAreCaught) {
  Object* object = node();
  ASSERT_EQ(heap::delete_object(object), DeleteResult::kDeleted);
  EXPECT_EQ(heap::delete_object(object), DeleteResult::kAlreadyDeleted);
  EXPECT_EQ(caught(), 0u) << "no exception has told it yet";
  EXPECT_EQ(heap::take_history().type, &node_type.table);
  EXPECT_EQ(caught(), 1u);
  heap::note_dangling_fault(address(object) + 8);
  EXPECT_EQ(stack(heap::take_history().deleted), Stack{0xde1});
  EXPECT_EQ(caught(), 2u);
  heap::note_dangling_fault(core::arena.start + core::arena.size / 4);
  EXPECT_EQ(caught(), 2u);
}

TEST_F(GuardedTest, WhatIsKnownOfOneIsNotToldOfAnother) {
  Object* object = node();
  ASSERT_EQ(heap::delete_object(object), DeleteResult::kDeleted);
  core::knobs.sample = 0;
  std::vector<Object*> plain;
  for (size_t i = 0; i < 3 * core::kPagesPerBlock; i++) plain.push_back(allocate(&bytes_type.table, 4'000));
  for (Object* other : plain) ASSERT_TRUE(heap::has_deleted(heap::delete_object(other)));
  heap::collect();
  core::knobs.sample = 1;
  EXPECT_EQ(heap::delete_object(object), DeleteResult::kAlreadyDeleted);  // and nobody asks what it was
  EXPECT_EQ(heap::delete_object(plain[core::kPagesPerBlock]), DeleteResult::kDangling);
  EXPECT_EQ(heap::take_history().type, nullptr);
}

TEST_F(GuardedTest, WhatIsNobodysMistakeIsNotCaught) {
  Object* object = node();
  ASSERT_EQ(heap::delete_object(object), DeleteResult::kDeleted);
  for (auto* way : {&heap::delete_part, &heap::delete_keeping_lock}) {
    EXPECT_EQ(way(object), DeleteResult::kAlreadyDeleted);
    EXPECT_EQ(heap::take_history().type, nullptr);
  }
  EXPECT_EQ(caught(), 0u);
}

TEST_F(GuardedTest, WhatHadToWaitForItsLockHasNoStackOfAnotherDeletion) {
  Object* object = node();
  *object->sync_word() = core::kSyncPostponed;
  EXPECT_EQ(heap::delete_object(object), DeleteResult::kAlreadyDeleted);
  EXPECT_EQ(heap::delete_postponed(object), DeleteResult::kDeleted);
  EXPECT_EQ(history(object).type, &node_type.table);
  EXPECT_EQ(stack(history(object).allocated), Stack{0xa110c});
  EXPECT_EQ(history(object).deleted, heap::kNoStack);
  Object* next = node();
  EXPECT_EQ(heap::delete_object(next), DeleteResult::kDeleted);
  EXPECT_EQ(stack(history(next).deleted), Stack{0xde1});
}

TEST_F(GuardedTest, ARecountLeavesAPageThatWasJustTaken) {
  node();
  auto* object = reinterpret_cast<Object*>(heap::take_guarded_page(node_type.table.base_size) + core::kHeaderSize);
  heap::maintain(true, false);
  object->type = &node_type.table;
  expect_valid("a recount");
  EXPECT_EQ(heap::delete_object(object), DeleteResult::kDeleted);
  EXPECT_FALSE(is_readable(object));
  EXPECT_EQ(alive(), 1u);
  expect_valid("and its deletion");
}

TEST_F(GuardedTest, ObjectsOfEverySizeUpToAPageAndOfEveryKindOfHeader) {
  for (uint32_t length : {0u, 1u, 100u, 4'000u, uint32_t{core::kPageSize} - 24}) {
    Object* object = allocate(&bytes_type.table, length);
    ASSERT_TRUE(is_guarded(object)) << length;
    expect_valid("a size");
    *object->sync_word() = core::kSyncIsHashOrIndex | core::kSyncIsHash | 7;  // a hash code
    EXPECT_EQ(heap::delete_object(object), DeleteResult::kDeleted) << length;
    EXPECT_FALSE(is_readable(object)) << length;
  }
  Object* finalizable = allocate(&finalizable_type.table);
  ASSERT_TRUE(is_guarded(finalizable));
  EXPECT_TRUE(core::may_have_finalizable(core::arena.block_index(address(finalizable))));
  EXPECT_EQ(heap::delete_object(finalizable), DeleteResult::kNeedsFinalizer);
  EXPECT_EQ(alive(), 1u);
  EXPECT_EQ(heap::delete_finalized(finalizable), DeleteResult::kDeleted);
  EXPECT_FALSE(is_readable(finalizable));
  EXPECT_EQ(alive(), 0u);
  expect_valid("all deleted");
}

TEST_F(GuardedTest, ALargerObjectLeavesNoRoomForOthersWithoutAChoice) {
  for (uint32_t length : {5'000u, 20'000u, 9'000u}) {
    EXPECT_FALSE(is_guarded(allocate(&bytes_type.table, length)));
    EXPECT_TRUE(is_guarded(node()));
  }
  expect_valid("larger ones");
}

TEST_F(GuardedTest, WhatIsLargePinnedOrOfAnEmergencyIsNot) {
  EXPECT_FALSE(is_guarded(allocate(&bytes_type.table, core::kPageSize)));
  EXPECT_FALSE(is_guarded(allocate(&bytes_type.table, core::kLargeObject + 1)));
  EXPECT_FALSE(is_guarded(allocate_with(&context_, &small_type.table, 0, heap::kAllocPinned)));
  heap::thread_heap.emergency = 4096;
  heap::thread_heap.recovered_at = INT64_MAX;
  EXPECT_FALSE(is_guarded(allocate(&small_type.table)));
  EXPECT_EQ(heap::thread_heap.emergency, 4096u) << "what it was";
  heap::thread_heap.emergency = 0;
  heap::thread_heap.emergency_large = 1;
  Object* object = allocate(&bytes_type.table, 4'000);
  while (core::arena.page_index(address(object)) % 2 != 0) object = allocate(&bytes_type.table, 4'000);
  EXPECT_FALSE(is_guarded(object));
  heap::thread_heap.emergency_large = 0;
  EXPECT_EQ(guarded_counters.taken.load(), 0u);
}

TEST_F(GuardedTest, APinnedOneStaysUntilNothingPinsItAndTheOthersGo) {
  Object* pinned = node();
  Object* other = node();
  EXPECT_EQ(heap::pin(pinned), pinned);
  EXPECT_EQ(heap::delete_object(other), DeleteResult::kDeleted);
  EXPECT_FALSE(is_readable(other));
  EXPECT_EQ(heap::delete_object(pinned), DeleteResult::kMayBePinned);
  EXPECT_TRUE(is_readable(pinned));
  EXPECT_EQ(held(), 2u);
  EXPECT_EQ(heap::delete_object(pinned), DeleteResult::kAlreadyDeleted);
  heap::set_pin_scanner([](const heap::PinScan& scan) {
    scan.stopped(scan.argument);
    scan.seen(scan.argument);
    return true;
  });
  heap::release_what_no_thread_pins();
  heap::set_pin_scanner(nullptr);
  EXPECT_FALSE(is_readable(pinned));
  expect_valid("unpinned");
}

TEST_F(GuardedTest, APinThatComesBetweenTheLooksKeepsItsPage) {
  static Object* late;
  static void* granted;
  Object* pinned = node();
  late = node();
  node();
  EXPECT_EQ(heap::pin(pinned), pinned);
  heap::after_look_at_pins = []() noexcept { granted = heap::pin(late); };
  EXPECT_EQ(heap::delete_object(late), DeleteResult::kMayBePinned);
  heap::after_look_at_pins = nullptr;
  EXPECT_EQ(granted, late);
  EXPECT_TRUE(is_readable(late));
  EXPECT_TRUE(is_readable(pinned));
  expect_valid("pinned in between");
}

// The block is given up between the looks at pins: who pins from then on does not say which page.
TEST_F(GuardedTest, APinInABlockThatIsGivenUpBetweenTheLooksKeepsItsPage) {
  static Object* late;
  static void* granted;
  Object* pinned = node();
  late = node();
  node();
  EXPECT_EQ(heap::pin(pinned), pinned);
  heap::after_look_at_pins = []() noexcept {
    heap::forget_guarded_blocks(core::arena.block_index(reinterpret_cast<uintptr_t>(late)), 1);
    granted = heap::pin(late);
  };
  EXPECT_EQ(heap::delete_object(late), DeleteResult::kDeleted);  // as ordinary objects are, whose pages wait for their pins
  heap::after_look_at_pins = nullptr;
  ASSERT_EQ(kind_of(late), core::BlockKind::kSmall);
  EXPECT_EQ(granted, late);
  EXPECT_TRUE(is_readable(late));
  EXPECT_TRUE(is_readable(pinned));
}

// One that is pinned does not make the others' deletions look for pins.
TEST_F(GuardedTest, WhatGoesBesideAPinnedOneWaitsForNothing) {
  Object* pinned = node();
  EXPECT_EQ(heap::pin(pinned), pinned);
  for (int i = 0; i < 100; i++) EXPECT_EQ(heap::delete_object(node()), DeleteResult::kDeleted);
  EXPECT_FALSE(heap::has_blocks_that_wait_for_pins());
  EXPECT_FALSE(core::arena.blocks[core::arena.block_index(address(pinned))].release_waits.load());
}

TEST_F(GuardedTest, AReclaimEndsThemWithoutAStack) {
  Object* kept = node({node()});
  Object* left = node({node()});
  add_root(kept);
  EXPECT_EQ(heap::reclaim(heap::ReclaimScope::kAll), 2);
  EXPECT_TRUE(is_readable(kept));
  EXPECT_FALSE(is_readable(left));
  EXPECT_EQ(history(left).type, &node_type.table);
  EXPECT_EQ(history(left).deleted, heap::kNoStack);
  EXPECT_EQ(alive(), 2u);
  EXPECT_EQ(held(), 2u);
  expect_valid("a reclaim");
}

TEST_F(GuardedTest, AYoungReclaimEndsThem) {
  EXPECT_EQ(heap::reclaim(heap::ReclaimScope::kAll), 0);
  for (size_t i = 0; i < 2 * core::kPagesPerBlock; i++) node();
  heap::reclaim(heap::ReclaimScope::kYoung);
  EXPECT_LT(alive(), core::kPagesPerBlock);  // those of the block that had begun
  expect_valid("a young reclaim");
}

TEST_F(GuardedTest, TheEndOfAScopeEndsThem) {
  Object* outside = node();
  add_root(outside);
  int64_t scope = heap::begin_scope();
  Object* gone = node();
  Object* kept = node();
  set(outside, 0, kept);
  end(scope);
  EXPECT_FALSE(is_readable(gone));
  EXPECT_TRUE(is_readable(kept));
  EXPECT_EQ(alive(), 2u);
  EXPECT_EQ(history(gone).type, &node_type.table);
  expect_valid("the end of a scope");
}

TEST_F(GuardedTest, BlocksThatAreFullOfDeletedOnesGo) {
  std::vector<Object*> objects;
  for (size_t i = 0; i < 3 * core::kPagesPerBlock; i++) objects.push_back(node());
  size_t live = heap::block_counters.live.load();
  for (Object* object : objects) ASSERT_TRUE(heap::has_deleted(heap::delete_object(object)));
  EXPECT_EQ(heap::block_counters.live.load(), live - 3);
  EXPECT_EQ(alive(), 0u);
  EXPECT_EQ(held(), objects.size());
  EXPECT_EQ(heap::block_counters.guarded_pages.load(), 0u);
  expect_valid("full blocks");
}

TEST_F(GuardedTest, TheOldestBlockIsGivenUpAndIsAnOrdinaryOneThen) {
  std::vector<Object*> first;
  for (size_t i = 0; i < core::kPagesPerBlock; i++) first.push_back(node());
  for (size_t i = 1; i < first.size(); i++) heap::delete_object(first[i]);
  Object* survivor = first[0];
  for (size_t i = 0; i < (heap::kGuardedBlocks - 1) * core::kPagesPerBlock; i++) heap::delete_object(node());
  EXPECT_TRUE(is_guarded(survivor));
  EXPECT_EQ(history(first[1]).type, &node_type.table);
  EXPECT_EQ(held(), heap::kGuardedBlocks * core::kPagesPerBlock - 1);
  node();
  EXPECT_EQ(kind_of(survivor), core::BlockKind::kSmall);
  EXPECT_TRUE(is_readable(survivor));
  EXPECT_EQ(history(first[1]).type, nullptr);
  EXPECT_EQ(heap::delete_object(first[1]), DeleteResult::kDangling);
  EXPECT_EQ(alive(), 1u);
  EXPECT_EQ(held(), (heap::kGuardedBlocks - 1) * core::kPagesPerBlock);
  expect_valid("a block was given up");
  EXPECT_EQ(heap::delete_object(survivor), DeleteResult::kDeleted);
  EXPECT_EQ(alive(), 1u);
  expect_valid("and its last object deleted");
}

TEST_F(GuardedTest, WhatLiesAtAnAddressThatIsUsedAgainIsNotTakenForADeletedOne) {
  std::vector<Object*> objects;
  for (size_t i = 0; i < core::kPagesPerBlock; i++) objects.push_back(node());
  size_t block = core::arena.block_index(address(objects[0]));
  for (Object* object : objects) heap::delete_object(object);
  Object* other = node();
  heap::delete_object(other);
  EXPECT_EQ(held(), core::kPagesPerBlock + 1);
  heap::forget_guarded_blocks(block, 1);
  EXPECT_EQ(held(), 1u);
  for (Object* object : objects) EXPECT_EQ(history(object).type, nullptr);
  EXPECT_EQ(history(other).type, &node_type.table);
  // Its place among those to be given up is nobody's.
  for (size_t i = 0; i < heap::kGuardedBlocks * core::kPagesPerBlock; i++) heap::delete_object(node());
  expect_valid("and many more");
}

TEST_F(GuardedTest, AGraphGoesWithItsRoot) {
  Object* part = node();
  Object* root = node({part, node({part})});
  Object* kept = node();
  add_root(root);
  add_root(kept);
  set(root, 2, kept);
  uint64_t place = address(root), none = 0;
  heap::GraphDeletion result;
  ASSERT_EQ(heap::delete_graph(&place, &none, &result), heap::GraphResult::kDeleted);
  EXPECT_EQ(result.objects, 3u);
  EXPECT_EQ(stack(history(root).deleted), Stack{0xde1}) << "others may name it";
  EXPECT_EQ(history(part).deleted, heap::kNoStack);
  EXPECT_FALSE(is_readable(part));
  EXPECT_TRUE(is_readable(kept));
  EXPECT_EQ(alive(), 1u);
  expect_valid("a graph");
}

TEST_F(GuardedTest, NoMoreLiveThanTheBoundAndTheOldestAreGivenUp) {
  std::vector<Object*> objects;
  for (size_t i = 0; i < heap::kGuardedAliveAtMost; i++) objects.push_back(node());
  EXPECT_EQ(alive(), heap::kGuardedAliveAtMost);
  EXPECT_TRUE(is_guarded(objects[0]));
  EXPECT_TRUE(is_guarded(node()));
  EXPECT_EQ(alive(), heap::kGuardedAliveAtMost - core::kPagesPerBlock + 1);
  for (size_t i : {size_t{0}, core::kPagesPerBlock - 1}) EXPECT_EQ(kind_of(objects[i]), core::BlockKind::kSmall);
  EXPECT_TRUE(is_guarded(objects[core::kPagesPerBlock]));
  expect_valid("the bound");
  // They are ordinary ones: compaction moves what is left.
  core::knobs.promotion = true;
  for (size_t i = 0; i < core::kPagesPerBlock; i += 2) heap::delete_object(objects[i]);
  heap::promote(heap::PromotionScope::kSparse);
  EXPECT_NE(heap::current_address(address(objects[1])), address(objects[1]));
  expect_valid("and moved");
}

TEST_F(GuardedTest, ASmallHeapHasFewAndAFailureOfTheSystemMakesOrdinaryOnes) {
  heap::set_limit(size_t{32} << 20);
  for (int i = 0; i < 2'000; i++) {
    node();
    EXPECT_LE(alive(), (size_t{32} << 20) / 16 / core::kPageSize);
  }
  heap::set_limit(size_t{16} << 20);
  node();
  expect_valid("a small heap");
  heap::set_limit(SIZE_MAX / 2);
  core::knobs.sample = 0;  // a chunk for ordinary ones
  allocate(&small_type.table);
  core::knobs.sample = 1;
  os::inject_failures("mprotect:1+,mmap:1+");
  size_t ordinary = 0;
  for (size_t i = 0; i <= core::kPagesPerBlock; i++) {
    Object* object = allocate_with(&context_, &small_type.table, 0, 0);
    if (object != nullptr && !is_guarded(object)) ordinary++;
  }
  os::inject_failures("mmap:18446744073709551615,mprotect:18446744073709551615");
  EXPECT_NE(ordinary, 0u);
  expect_valid("failures");
}

TEST_F(GuardedTest, APageThatTheSystemDoesNotTakeBehavesAsAlive) {
  Object* object = node();
  node();
  os::inject_failures("madvise:1+,mmap:1+,mprotect:1+");
  EXPECT_TRUE(heap::has_deleted(heap::delete_object(object)));
  os::inject_failures("mmap:18446744073709551615,mprotect:18446744073709551615,madvise:18446744073709551615");
  ASSERT_TRUE(is_readable(object));
  EXPECT_EQ(object->type, &node_type.table);
  EXPECT_EQ(heap::delete_object(object), DeleteResult::kAlreadyDeleted);
  EXPECT_EQ(alive(), 1u);
  expect_valid("not taken");
}

TEST_F(GuardedTest, AWindowIsWatchedOnceAndWhatIsNotWatchedWhenItGoes) {
  if (!heap::is_watching()) GTEST_SKIP() << "no userfaultfd";
  constexpr size_t kPages = core::kWindowSize / core::kPageSize;
  auto fill_window = [this] {
    std::vector<Object*> objects;
    while (objects.size() < kPages) objects.push_back(node());
    return objects;
  };
  auto delete_all = [](const std::vector<Object*>& objects) {
    uint64_t before = os::call_count(os::Call::kRegister);
    for (Object* object : objects) {
      EXPECT_EQ(heap::delete_object(object), DeleteResult::kDeleted);
      EXPECT_FALSE(is_readable(object));
    }
    return os::call_count(os::Call::kRegister) - before;
  };
  uint64_t before = os::call_count(os::Call::kRegister);
  std::vector<Object*> objects = fill_window();
  EXPECT_EQ(os::call_count(os::Call::kRegister) - before, 1u);
  EXPECT_EQ(delete_all(objects), 0u);
  os::inject_failures("register:1,madvise:1");  // it is touched page by page, and not watched
  objects = fill_window();
  EXPECT_EQ(delete_all(objects), kPages);
  EXPECT_EQ(delete_all(fill_window()), kPages) << "of the block some is not watched";
  os::inject_failures("register:18446744073709551615,madvise:18446744073709551615");
  expect_valid("watched windows");
}

TEST_F(GuardedTest, TheyDoNotMove) {
  core::knobs.promotion = true;
  std::vector<Object*> objects;
  for (int i = 0; i < 5'000; i++) objects.push_back(node());
  for (size_t i = 0; i < objects.size(); i++) {
    if (i % 10 != 0) heap::delete_object(objects[i]);
  }
  heap::promote(heap::PromotionScope::kSparse);
  for (size_t i = 0; i < objects.size(); i += 10) EXPECT_TRUE(is_readable(objects[i])) << i;
  expect_valid("a round");
}

// Each child of a server would guard the same object.
TEST_F(GuardedTest, TheChildOfAForkChoosesOthers) {
  core::knobs.sample = 1'000;
  allocate(&small_type.table);
  heap::close_chunk(&context_);  // there the next object counts
  std::vector<int64_t> countdowns;
  for (int child = 0; child < 4; child++) {
    heap::seed_guarded_choice(1);
    heap::thread_heap.guard_countdown = 100'000;  // the parent's
    heap::choose_guarded_anew();
    heap::count_to_guarded(&context_, small_type.table.base_size);
    countdowns.push_back(heap::thread_heap.guard_countdown);
  }
  std::sort(countdowns.begin(), countdowns.end());
  EXPECT_EQ(std::unique(countdowns.begin(), countdowns.end()), countdowns.end());
}

TEST_F(GuardedTest, NearItsLimitAHeapGivesNothingUpForThem) {
  core::knobs.sample = 0;
  allocate(&small_type.table);
  ASSERT_TRUE(heap::prefault_block(1));
  heap::set_limit(heap::resident_memory() + core::kBlockSize / 2);
  core::knobs.sample = 1;
  uint64_t resident = heap::resident_memory();
  size_t used = heap::addresses_used();
  for (int i = 0; i < 1'000; i++) ASSERT_FALSE(is_guarded(allocate_with(&context_, &small_type.table)));
  EXPECT_EQ(heap::block_counters.prefaulted.load(), 1u);
  EXPECT_EQ(heap::resident_memory(), resident);
  EXPECT_EQ(heap::addresses_used(), used);
  expect_valid("near the limit");
  heap::set_limit(SIZE_MAX / 2);
  for (int i = 0; i < 2'000; i++) allocate_with(&context_, &small_type.table);
  EXPECT_NE(alive(), 0u) << "it tries again";
}

// Random programs against a model: which live, which are deleted, which are known.
TEST_F(GuardedTest, RandomProgramsAgreeWithAModel) {
  uint64_t seed = seed_of_run();
  SCOPED_TRACE(::testing::Message() << "FREEHOLD_TEST_SEED=" << seed);
  std::mt19937_64 random(seed);
  core::knobs.sample = 3;
  heap::seed_guarded_choice(seed | 1);
  std::vector<Object*> live;
  std::map<Object*, const core::MethodTable*> deleted;  // guarded ones
  uint64_t guarded_alive = 0, twice = 0;
  for (int step = 0; step < 40'000; step++) {
    switch (random() % 8) {
      case 0:
      case 1:
      case 2:
      case 3: {
        Object* object = random() % 2 == 0 ? node() : allocate(&bytes_type.table, static_cast<uint32_t>(random() % 5'000));
        guarded_alive += is_guarded(object) ? 1 : 0;
        live.push_back(object);
        break;
      }
      case 4:
      case 5:
      case 6: {
        if (live.empty()) break;
        size_t index = random() % live.size();
        Object* object = std::exchange(live[index], live.back());
        live.pop_back();
        bool was_guarded = is_guarded(object);
        const core::MethodTable* type = object->type;
        ASSERT_TRUE(heap::has_deleted(heap::delete_object(object)));
        if (!was_guarded) break;
        guarded_alive--;
        deleted[object] = type;
        ASSERT_FALSE(is_readable(object));
        break;
      }
      default: {
        if (deleted.empty()) break;
        auto place = deleted.lower_bound(reinterpret_cast<Object*>(core::arena.start + random() % (size_t{64} << 20)));
        if (place == deleted.end()) break;
        ASSERT_EQ(heap::delete_object(place->first), DeleteResult::kAlreadyDeleted);
        twice++;
        ASSERT_EQ(heap::take_history().type, place->second);
      }
    }
    ASSERT_EQ(alive(), guarded_alive);
    if (step % 4'000 == 0) expect_valid("a random program");
  }
  EXPECT_EQ(held(), deleted.size());
  EXPECT_EQ(caught(), twice);
}

class GuardedMprotectTest : public GuardedHeap<HeapTest> {
  void configure(core::Knobs& knobs) override {
    knobs.sample = 1;
    knobs.protection = core::Protection::kMprotect;
  }
};

TEST_F(GuardedMprotectTest, PagesGoAndLiveOnesAreBoundedByMappings) {
  Object* object = allocate(&node_type.table);
  allocate(&node_type.table);
  EXPECT_EQ(heap::delete_object(object), DeleteResult::kDeleted);
  EXPECT_FALSE(is_readable(object));
  for (size_t i = 0; i < 10'000; i++) allocate(&node_type.table);
  size_t bound = heap::mapping_budget() / 16;
  EXPECT_LE(alive(), bound);
  EXPECT_GT(alive() + core::kPagesPerBlock, bound);
  expect_valid("mprotect");
}

TEST_F(GuardedMprotectTest, NothingIsGuardedInDebugModeOrWithoutTheSetting) {
  core::knobs.sample = 0;
  for (int i = 0; i < 1'000; i++) EXPECT_FALSE(is_guarded(allocate(&node_type.table)));
  core::knobs.sample = 1;
  core::knobs.debug = true;
  EXPECT_FALSE(core::knobs.guards_samples());
  core::knobs.debug = false;
}

}  // namespace
}  // namespace freehold::testing
