// Promotion under threads that go on allocating, linking, checking and deleting through names that are as old as they like. The model holds what
// every object must contain and whom it must refer to; nothing is compared by address, only by current_address().
#include "core/stop_request.h"
#include "heap/block_evacuation.h"
#include "heap/reclaim_policy.h"
#include "promotion_fixture.h"

namespace freehold::testing {
namespace {

TEST_P(PromotionTest, SparseBlocksBecomeOne) {
  std::vector<Object*> kept = sparse_blocks(20, 10);
  size_t before = heap::block_counters.live.load();
  uint64_t moved = heap::promote(PromotionScope::kSparse);
  EXPECT_GT(moved, kept.size() / 2);
  EXPECT_LT(heap::block_counters.live.load(), before / 3);
  expect_valid("after promotion");
  for (size_t i = 1; i < kept.size(); i++) {
    EXPECT_EQ(load(kept[i], 0), reinterpret_cast<uint64_t>(&node_type.table));
    uint64_t reference = load(kept[i], 1);
    EXPECT_EQ(name(reference), name(kept[i - 1]));
    // The walk has patched it: no forwarding is needed.
    if (name(kept[i]) != reinterpret_cast<uint64_t>(kept[i]) && name(kept[i - 1]) != reinterpret_cast<uint64_t>(kept[i - 1])) {
      EXPECT_EQ(reference, name(kept[i - 1]));
    }
  }
}

TEST_P(PromotionTest, SparseIsWhatIsFiveSixteenthsDead) {
  for (size_t of_sixteen : {4, 6}) {
    for (size_t i = 0; i < 4 * core::kBlockSize / 40; i++) {
      Object* object = allocate(&node_type.table);
      if (i * 7 % 16 < of_sixteen) {
        ASSERT_EQ(heap::delete_object(object), DeleteResult::kDeleted);
      }
    }
    uint64_t moved = heap::promote(PromotionScope::kSparse);
    if (of_sixteen < 5) {
      EXPECT_EQ(moved, 0u);
    } else {
      EXPECT_GT(moved, 100'000u / 16 * (16 - of_sixteen));
    }
    expect_valid("after promotion");
  }
}

// 16 MB and 3/8 of what lives may be wasted; 3/16 are afterwards.
TEST_P(PromotionTest, IsDueWhenThreeEighthsAreWasted) {
  constexpr double kHeld = 64.0 * core::kBlockSize, kSlack = 16 << 20;
  std::vector<Object*> all;
  for (size_t bytes = 0; bytes < 64 * core::kBlockSize; bytes += 1000) all.push_back(allocate(&bytes_type.table, 1000 - 24));
  size_t deleted = 0;
  auto delete_until = [&](double wasted) {
    for (; static_cast<double>(heap::total_bytes_in_use()) * (1 + wasted) + kSlack > kHeld; deleted++)
      ASSERT_EQ(heap::delete_object(all[deleted * 7919 % all.size()]), DeleteResult::kDeleted);
  };
  EXPECT_FALSE(heap::should_promote());
  delete_until(0.34);
  EXPECT_FALSE(heap::should_promote());
  delete_until(0.41);
  EXPECT_TRUE(heap::should_promote());
  EXPECT_GT(heap::promote(PromotionScope::kFragmented), 0u);
  double live = static_cast<double>(heap::total_bytes_in_use());
  EXPECT_LT(static_cast<double>(heap::memory_footprint()), live * 19 / 16 + 2.0 * core::kBlockSize);
  expect_valid("after promotion");
}

TEST_P(PromotionTest, AddressesWithinAndOnePastTheEndFollow) {
  std::vector<Object*> kept = sparse_blocks(4, 3);
  ASSERT_GT(heap::promote(PromotionScope::kSparse), 0u);
  for (Object* object : kept) {
    uint64_t at = reinterpret_cast<uint64_t>(object);
    if (name(at) == at) continue;
    // The header word of locks and hash codes lies before the object; the end of the object is the start of the next one's header.
    for (int64_t offset = -4; offset <= 32; offset++) EXPECT_EQ(name(at + static_cast<uint64_t>(offset)), name(at) + static_cast<uint64_t>(offset)) << offset;
  }
}

TEST_P(PromotionTest, DeletedObjectsOfAPromotedBlockAreDead) {
  std::vector<Object*> all;
  for (size_t bytes = 0; bytes < 3 * core::kBlockSize; bytes += 40) all.push_back(allocate(&node_type.table));
  for (size_t i = 0; i < all.size(); i++) {
    if (i % 4 != 0) heap::delete_object(all[i]);
  }
  ASSERT_GT(heap::promote(PromotionScope::kSparse), 0u);
  size_t dead = 0;
  for (size_t i = 0; i < all.size(); i++) {
    if (heap::whereabouts_of(reinterpret_cast<uintptr_t>(all[i])) == heap::Whereabouts::kHere) continue;  // in the block that is not full yet
    bool deleted = i % 4 != 0;
    EXPECT_EQ(heap::whereabouts_of(reinterpret_cast<uintptr_t>(all[i])), deleted ? heap::Whereabouts::kDead : heap::Whereabouts::kMoved);
    EXPECT_EQ(heap::is_deleted(all[i]), deleted);
    EXPECT_EQ(heap::delete_object(all[i]), deleted ? DeleteResult::kDangling : DeleteResult::kDeleted);
    dead++;
  }
  EXPECT_GT(dead, all.size() / 2);
}

TEST_P(PromotionTest, IdentityOutlivesDeletionAndFurtherMoves) {
  std::vector<Object*> kept = sparse_blocks(6, 4);
  std::vector<std::set<uint64_t>> names(kept.size());
  for (int round = 0; round < 5; round++) {
    for (size_t i = 0; i < kept.size(); i++) names[i].insert(name(kept[i]));
    heap::promote(PromotionScope::kAll);
    sparse_blocks(2, 1'000'000);
  }
  for (size_t i = 0; i < kept.size(); i += 2) heap::delete_object(kept[i]);
  heap::promote(PromotionScope::kAll);
  std::set<uint64_t> current;
  for (size_t i = 0; i < kept.size(); i++) {
    for (uint64_t old : names[i]) EXPECT_EQ(name(old), name(kept[i]));
    EXPECT_TRUE(current.insert(name(kept[i])).second) << "two objects have one name";
  }
}

TEST_P(PromotionTest, PinnedBlocksStay) {
  std::vector<Object*> kept = sparse_blocks(8, 10);
  for (Object* object : kept) core::arena.blocks[core::arena.block_index(reinterpret_cast<uintptr_t>(object))].handle_pins.store(1);
  EXPECT_EQ(heap::promote(PromotionScope::kAll), 0u);
  for (Object* object : kept) EXPECT_EQ(name(object), reinterpret_cast<uint64_t>(object));
  for (Object* object : kept) core::arena.blocks[core::arena.block_index(reinterpret_cast<uintptr_t>(object))].handle_pins.store(0);
  expect_valid("after promotion was refused");
  EXPECT_GT(heap::promote(PromotionScope::kAll), 0u);
}

// A pin that comes and goes after the stop that a round begins with, and one that stays.
TEST_P(PromotionTest, WhatWasPinnedForAMomentIsTriedAgain) {
  static Object *passing, *staying;
  static int scans;
  std::vector<Object*> kept = sparse_blocks(8, 10);
  passing = kept[kept.size() / 4];
  staying = kept[kept.size() / 2];
  ASSERT_NE(core::arena.block_index(name(passing)), core::arena.block_index(name(staying)));
  scans = 0;
  heap::set_pin_scanner([](const heap::PinScan& scan) {
    scan.stopped(scan.argument);
    scan.pinned(staying, scan.argument);
    scan.seen(scan.argument);
    if (++scans == 1) heap::pin(passing);
    return true;
  });
  ASSERT_EQ(heap::pin(passing), passing);
  ASSERT_EQ(heap::pin(staying), staying);
  EXPECT_GT(heap::promote(PromotionScope::kAll), 0u);
  EXPECT_EQ(scans, 2);
  EXPECT_NE(name(passing), reinterpret_cast<uint64_t>(passing));
  EXPECT_EQ(name(staying), reinterpret_cast<uint64_t>(staying));
  EXPECT_EQ(heap::promotion_counters.refused.load(), 1u);
  expect_valid("after a second attempt");
}

// Threads that pin again and again what a round wants are not stopped for every few blocks.
TEST_P(PromotionTest, RetriesAskForPinsWithFewStops) {
  static std::vector<Object*> kept;
  static int scans;
  kept = sparse_blocks(80, 400);
  scans = 0;
  // Each time, all of them are pinned again when the threads go on.
  heap::set_pin_scanner([](const heap::PinScan& scan) {
    scan.stopped(scan.argument);
    for (Object* object : kept) scan.pinned(object, scan.argument);
    scan.seen(scan.argument);
    scans++;
    return true;
  });
  for (Object* object : kept) ASSERT_EQ(heap::pin(object), object);
  EXPECT_EQ(heap::promote(PromotionScope::kAll), 0u);
  heap::set_pin_scanner(nullptr);
  uint64_t refused = heap::promotion_counters.refused.load();
  EXPECT_GT(refused, 70u);
  // One before the round, then for 8, 16, 32, 64 blocks.
  EXPECT_LE(scans, 5);
  expect_valid("at the end");
}

TEST_P(PromotionTest, ARemapMakesEveryNameCurrent) {
  core::knobs.stress.fault = true;  // promotion patches nothing
  std::vector<Object*> kept = sparse_blocks(8, 10);
  Mutator& thread = mutators.emplace_back();
  for (size_t i = 0; i < kept.size(); i++) thread.live[static_cast<int64_t>(i)] = {.object = kept[i], .content = 0, .node = true};
  ASSERT_GT(heap::promote(PromotionScope::kSparse), kept.size() / 2);
  sparse_blocks(2, 1'000'000);
  heap::promote(PromotionScope::kAll);
  // Deleted, but its memory is there: what it refers to can still be reached through it.
  Object* deleted = reinterpret_cast<Object*>(name(kept[kept.size() / 2]));
  ASSERT_EQ(heap::delete_object(deleted), DeleteResult::kDeleted);
  std::vector<uint64_t> before;
  for (Object* object : kept) before.push_back(name(object));
  ASSERT_GT(heap::forwarding_bytes(), 0u);
  ASSERT_TRUE(heap::dedangle());
  EXPECT_EQ(heap::forwarding_bytes(), 0u);
  EXPECT_EQ(heap::block_counters.forwarded.load(), 0u);
  EXPECT_EQ(heap::remap_counters.abandoned.load(), 0u);
  for (size_t i = 0; i < kept.size(); i++) {
    auto* object = reinterpret_cast<uint64_t*>(thread.live.at(static_cast<int64_t>(i)).object);
    ASSERT_EQ(reinterpret_cast<uint64_t>(object), before[i]);
    // By its own name, without any table.
    uint64_t type, reference;
    ASSERT_TRUE(core::try_load(object, &type));
    ASSERT_TRUE(core::try_load(object + 1, &reference));
    EXPECT_EQ(type, reinterpret_cast<uint64_t>(&node_type.table));
    EXPECT_EQ(reference, before[i == 0 ? 0 : i - 1]);
    if (before[i] != reinterpret_cast<uint64_t>(kept[i])) {
      EXPECT_EQ(heap::classify(kept[i]), heap::AddressState::kDead);
      EXPECT_EQ(heap::delete_object(kept[i]), DeleteResult::kDangling);
    }
  }
  heap::collapse_moved(0);
  expect_valid("after a remap");
  // A second one finds nothing to do.
  EXPECT_FALSE(heap::dedangle());
}

TEST_P(PromotionTest, TheTablesOfDeadCopiesGo) {
  std::vector<Object*> kept = sparse_blocks(40, 2);
  Mutator& thread = mutators.emplace_back();
  for (size_t i = 0; i < kept.size(); i++) thread.live[static_cast<int64_t>(i)] = {.object = kept[i], .content = 0, .node = true};
  for (int round = 0; round < 6; round++) {
    ASSERT_GT(heap::promote(PromotionScope::kAll), kept.size() / 2);
    sparse_blocks(1, 1'000'000);
    ASSERT_TRUE(heap::dedangle());
    heap::collapse_moved(0);
    expect_valid("after a remap");
  }
  size_t visited = 0, used = heap::promoted_frontier(), table = used * core::kPagesPerBlock * sizeof(core::PageRecord);
  heap::for_each_lower_block([&](size_t block) { visited += block % core::kBlocksPerSegment >= core::kBlocksInGeneration0 ? 1 : 0; });
  EXPECT_GT(used, 100u);
  EXPECT_LT(visited, used / 2);
  EXPECT_LT(bytes_with_memory(&core::arena.pages[heap::promoted_block(0) * core::kPagesPerBlock], table), table / 2);
}

TEST_P(PromotionTest, WithoutAStopNothingIsRemapped) {
  core::knobs.stress.fault = true;
  std::vector<Object*> kept = sparse_blocks(8, 10);
  ASSERT_GT(heap::promote(PromotionScope::kSparse), 0u);
  static constexpr heap::RemapSupport kNone = {[](void (*)(uint64_t*), void (*)(void*), void*) { return false; }, nullptr, nullptr};
  heap::set_remap_support(&kNone);
  EXPECT_FALSE(heap::dedangle());
  EXPECT_EQ(freehold_remapping, 0);
  EXPECT_GT(heap::forwarding_bytes(), 0u);
  for (size_t i = 1; i < kept.size(); i++) ASSERT_EQ(name(load(kept[i], 1)), name(kept[i - 1]));
}

TEST_P(PromotionTest, MovesDuringARemapAreMadeCurrent) {
  core::knobs.stress.fault = true;
  // References, and structures of one reference and 8 bytes that are none.
  static TypeOf<core::MethodTable::kHasPointers | core::MethodTable::kHasComponentSize | 16, 24> pairs_type = {
      {0, (int64_t{8} << 32) | 1, 16, -1}, {core::MethodTable::kHasPointers | core::MethodTable::kHasComponentSize | 16, 24, nullptr, 0, 0, 0}};
  std::vector<Object*> kept = sparse_blocks(8, 10);
  ASSERT_GT(heap::promote(PromotionScope::kSparse), 0u);
  uint64_t old = reinterpret_cast<uint64_t>(kept[kept.size() / 2]), current = name(old);
  ASSERT_NE(old, current);
  Object* references = allocate(&references_type.table, 100);
  Object* pairs = allocate(&pairs_type.table, 50);
  Object* huge = allocate(&references_type.table, 1'000'000);
  allocate(&small_type.table);
  for (Object* array : {references, pairs, huge}) {
    auto* words = reinterpret_cast<uint64_t*>(array) + 2;
    for (size_t i = 0; i < 100; i++) words[i] = old;
    // Words 11 to 40 were moved.
    heap::set_remapping(true);
    freehold_after_move(reinterpret_cast<uint8_t*>(words + 11), nullptr, 30 * 8);
    heap::set_remapping(false);
    for (size_t i = 0; i < 100; i++) {
      bool changed = i >= 11 && i < 41 && (array != pairs || i % 2 == 0);
      EXPECT_EQ(words[i], changed ? current : old) << i;
    }
  }
}

TEST_P(PromotionTest, TheBlockThatCopiesGoToIsNotPromoted) {
  core::knobs.stress.fault = true;  // no walk before that would find it unfinished
  // The last ones live: there is something to copy from it.
  std::list<std::vector<Object*>> rounds;
  for (int round = 0; round < 150; round++) {
    rounds.push_back(sparse_blocks(1, 100));
    heap::promote(PromotionScope::kAll);
    if (rounds.size() < 5) continue;
    for (Object* object : rounds.front()) ASSERT_EQ(heap::delete_object(object), DeleteResult::kDeleted);
    rounds.pop_front();
  }
  for (const std::vector<Object*>& kept : rounds) {
    for (size_t i = 1; i < kept.size(); i++) ASSERT_EQ(name(load(kept[i], 1)), name(kept[i - 1]));
  }
}

// A collection makes what is left of that block a filler: then it looks complete, and only a walk of its references, which this setting leaves out, would tell.
TEST_P(PromotionTest, TheBlockThatTakesTheCopiesStays) {
  core::knobs.stress.fault = true;
  heap::refuse_remaps(true);
  for (size_t n : {100, 130, 170}) {
    std::vector<Object*> kept = sparse_blocks(4, n);
    ASSERT_GT(heap::promote(PromotionScope::kSparse), 0u);
    heap::collect();
    heap::promote(PromotionScope::kAll);
    for (size_t i = 1; i < kept.size(); i++) ASSERT_EQ(name(load(kept[i], 1)), name(kept[i - 1]));
  }
  expect_valid("at the end");
}

TEST_P(PromotionTest, EveryNthDeletionMovesWhatIsLeft) {
  core::knobs.stress.deletion = 100;
  heap::unregister_thread();  // that it was registered without is over
  uint64_t before = heap::thread_totals().deleted_objects;
  std::vector<Object*> kept = sparse_blocks(1, 3);
  uint64_t deletions = heap::thread_totals().deleted_objects - before, rounds = heap::promotion_counters.rounds.load();
  EXPECT_EQ(rounds, deletions / 100);
  EXPECT_GT(heap::promotion_counters.objects.load(), kept.size());
  for (int i = 0; i < 100; i++) ASSERT_EQ(heap::delete_object(allocate(&small_type.table)), DeleteResult::kDeleted);
  EXPECT_EQ(heap::promotion_counters.rounds.load(), rounds + 1);
  for (size_t i = 1; i < kept.size(); i++) ASSERT_EQ(name(load(kept[i], 1)), name(kept[i - 1]));
  expect_valid("at the end");
}

TEST_P(PromotionTest, AllocationsWaitWhilePromotionIsBehind) {
  std::vector<Object*> kept = sparse_blocks(40, 10);
  heap::trim_pool(0);
  allocate(&bytes_type.table, 30'000);
  EXPECT_EQ(heap::promotion_counters.frame_waits.load(), 0u) << "nothing is promoted";
  // Evacuating a block now take some milliseconds.
  core::knobs.stress.delay = 10'000;
  std::atomic<bool> done{false};
  std::thread promoter([&] {
    heap::promote(PromotionScope::kSparse);
    done = true;
  });
  while (!done && heap::promotion_counters.blocks.load() == 0) std::this_thread::yield();
  std::vector<Object*> made;
  while (!done && heap::promotion_counters.frame_waits.load() == 0) {
    // No more than lets the heap be sparse.
    if (made.size() < 1000) made.push_back(allocate(&bytes_type.table, 30'000));
  }
  promoter.join();
  core::knobs.stress.delay = 0;
  EXPECT_GT(heap::promotion_counters.frame_waits.load(), 0u);
  for (size_t i = 1; i < kept.size(); i++) ASSERT_EQ(name(load(kept[i], 1)), name(kept[i - 1]));
  expect_valid("at the end");
}

// Between the plan of a block's copies and its evacuation: the copies are made, deleted, and count for the pages where they are.
TEST_P(PromotionTest, ObjectsMayDieBetweenPlanAndEvacuation) {
  uint64_t seed = seed_of_run();
  std::cerr << "FREEHOLD_TEST_SEED=" << seed << "\n";
  std::mt19937_64 random(seed);
  std::vector<Object*> kept = sparse_blocks(30, 4);
  std::shuffle(kept.begin(), kept.end(), random);
  core::knobs.stress.seed = seed;
  core::knobs.stress.delay = 2'000;
  std::atomic<bool> done{false};
  std::thread promoter([&] {
    heap::promote(PromotionScope::kSparse);
    done = true;
  });
  size_t deleted = 0;
  for (; !done && deleted < kept.size(); deleted++) {
    ASSERT_EQ(heap::delete_object(kept[deleted]), DeleteResult::kDeleted);
    if (deleted % 64 == 0) std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  promoter.join();
  core::knobs.stress.delay = 0;
  expect_valid("after the round");
  // A page's counter may lag by an update that two threads made at once; not by all that died meanwhile.
  size_t pages = 0, wrong = 0;
  heap::for_each_lower_block([&](size_t block) {
    if (core::arena.blocks[block].state.load() != core::BlockState::kLive) return;
    for (size_t page = block * core::kPagesPerBlock; page < (block + 1) * core::kPagesPerBlock; page++) {
      if (core::is_page_dead(page) || heap::first_object(page) == nullptr) continue;
      pages++;
      size_t truth = heap::count_page(page).deleted_units;
      if (core::arena.pages[page].deleted < truth) wrong++;
    }
  });
  EXPECT_GT(pages, 1000u);
  EXPECT_LE(wrong, pages / 50) << "of " << pages;
  for (size_t i = 0; i < kept.size(); i++) {
    DeleteResult result = heap::delete_object(kept[i]);
    if (i >= deleted) ASSERT_EQ(result, DeleteResult::kDeleted);
    else ASSERT_TRUE(result == DeleteResult::kAlreadyDeleted || result == DeleteResult::kDangling) << i;
  }
  heap::retire(&context_);
  heap::collect();
  expect_valid("at the end");
  EXPECT_LE(heap::block_counters.live.load(), 2u) << "the last that was allocated from, and the last that took copies";
}

// A round over much of a large heap gives back what it frees, not all of it to the pool.
TEST_P(PromotionTest, WhatThePoolCannotUseGoesAtOnce) {
  std::vector<Object*> kept = sparse_blocks(130, 20);
  size_t resident = heap::resident_memory();
  ASSERT_GT(heap::promote(PromotionScope::kSparse), 0u);
  EXPECT_GE(heap::block_counters.forwarded.load(), 100u);
  EXPECT_LE(heap::block_counters.pooled.load(), 64u);
  EXPECT_LE(heap::resident_memory(), resident - 50 * core::kBlockSize);
  for (size_t i = 1; i < kept.size(); i++) ASSERT_EQ(name(load(kept[i], 1)), name(kept[i - 1]));
  expect_valid("after promotion");
}

// A store through a stale reference would have the kernel clear 2 MB, where a huge page may come, before it tells us of the fault. With mprotect no page
// may come at all.
TEST_P(PromotionTest, NoHugePageMayComeWhereABlockWas) {
  std::vector<Object*> kept = sparse_blocks(6, 5);
  ASSERT_GT(heap::promote(PromotionScope::kSparse), 0u);
  size_t forwarded = 0;
  std::ifstream maps("/proc/self/smaps");
  uintptr_t start = 0, end = 0;
  std::string access;
  for (std::string line; std::getline(maps, line);) {
    if (line.starts_with("VmFlags:")) {
      for (uintptr_t at = start; at < end && core::arena.in_lower_half(at); at += core::kBlockSize - at % core::kBlockSize) {
        size_t block = core::arena.block_index(at);
        if (block >= heap::lower_frontier() || core::arena.blocks[block].state.load() != core::BlockState::kForwarded) continue;
        forwarded++;
        if (GetParam() == core::Protection::kMprotect) EXPECT_EQ(access, "---p");
        else EXPECT_EQ(line.find(" hg"), std::string::npos) << line;
      }
    } else if (unsigned long long from, to; sscanf(line.c_str(), "%llx-%llx ", &from, &to) == 2) {
      start = from, end = to;
      access = line.substr(line.find(' ') + 1, 4);
    }
  }
  EXPECT_EQ(forwarded, heap::block_counters.forwarded.load());
  EXPECT_GT(forwarded, 0u);
}

// A thread that got memory although promotion is behind goes on window by window.
TEST_P(PromotionTest, ThreadsThatTakeNewMemoryArePaced) {
  std::vector<Object*> kept = sparse_blocks(40, 10);
  heap::trim_pool(0);
  heap::thread_heap.paced_windows = 5;
  heap::pace();
  EXPECT_EQ(heap::thread_heap.paced_windows, 0u) << "nothing is promoted";
  core::knobs.stress.delay = 20'000;
  uint64_t blocks_before = heap::promotion_counters.blocks.load();
  std::atomic<bool> done{false};
  std::thread promoter([&] {
    heap::promote(PromotionScope::kSparse);
    done = true;
  });
  // Faster than blocks can come, and not before they do: else all is made on memory that nobody has to wait for.
  while (!done && heap::promotion_counters.blocks.load() == blocks_before) std::this_thread::yield();
  std::vector<Object*> made;
  uint32_t most = 0, least = core::kWindowsPerBlock;
  while (!done) {
    if (made.size() < 1000) made.push_back(allocate(&bytes_type.table, 30'000));
    most = std::max(most, heap::thread_heap.paced_windows);
    if (most != 0) least = std::min(least, heap::thread_heap.paced_windows);
  }
  promoter.join();
  EXPECT_GT(most, core::kWindowsPerBlock - 4u);
  EXPECT_LT(least, most);
  allocate(&bytes_type.table, 30'000);
  for (size_t i = 0; i < 2; i++) allocate(&bytes_type.table, 30'000);
  EXPECT_EQ(heap::thread_heap.paced_windows, 0u);
  expect_valid("at the end");
}

// It waits in cooperative mode: a stop that is wanted would wait for it.
TEST_P(PromotionTest, NobodyIsPacedWhoIsToStop) {
  static uint32_t trapped;
  static const uint32_t* const before = core::trapped;
  struct Restore {
    ~Restore() { core::trapped = before; }
  } restore;
  core::trapped = &trapped;
  heap::note_reclaim_begins();
  allocate(&bytes_type.table, 200 << 20);
  ASSERT_TRUE(heap::is_reclaim_far_behind());
  for (uint32_t wanted : {0u, core::kTrapForStop}) {
    trapped = wanted;
    uint64_t pauses = heap::promotion_counters.pauses.load();
    heap::wait_for_frames();
    heap::thread_heap.paced_windows = 5;
    heap::pace();
    heap::pace_large(1 << 20);
    if (wanted != 0) {
      EXPECT_EQ(heap::promotion_counters.pauses.load(), pauses);
      continue;
    }
    EXPECT_GE(heap::promotion_counters.pauses.load(), pauses + 3);
  }
  heap::forget_running_reclaims();
}

TEST_P(PromotionTest, FailuresLeaveEverythingInPlace) {
  for (const char* call : {"mmap", "mprotect", "mremap", "madvise", "register"}) {
    for (const char* where : {"1", "2", "3", "4", "5", "7", "10", "1+", "4+"}) {
      std::string failure = std::string(call) + ":" + where;
      SCOPED_TRACE(failure);
      std::vector<Object*> kept = sparse_blocks(4, 5);
      ASSERT_TRUE(os::inject_failures(failure.c_str()));
      heap::promote(PromotionScope::kSparse);
      ASSERT_TRUE(os::inject_failures((std::string(call) + ":18446744073709551615").c_str()));
      for (size_t i = 1; i < kept.size(); i++) ASSERT_EQ(name(load(kept[i], 1)), name(kept[i - 1]));
      expect_valid("after a failure");
      for (Object* object : kept) ASSERT_EQ(heap::delete_object(object), DeleteResult::kDeleted);
    }
  }
}

// Neither can the block's memory move, nor be given back: it is as it was, at each call where the second refusal may come.
TEST_P(PromotionTest, ABlockThatCannotGoStays) {
  for (int mapping = 1; mapping <= 12; mapping++) {
    std::string failures = "mremap:1+,madvise:1+,mmap:" + std::to_string(mapping) + "+";
    SCOPED_TRACE(failures);
    std::vector<Object*> kept = sparse_blocks(4, 5);
    ASSERT_TRUE(os::inject_failures(failures.c_str()));
    heap::promote(PromotionScope::kSparse);
    ASSERT_TRUE(os::inject_failures("mremap:18446744073709551615,madvise:18446744073709551615,mmap:18446744073709551615"));
    for (size_t i = 1; i < kept.size(); i++) ASSERT_EQ(name(load(kept[i], 1)), name(kept[i - 1]));
    expect_valid("after refusals");
    for (Object* object : kept) ASSERT_EQ(heap::delete_object(object), DeleteResult::kDeleted);
  }
}

// A block that has lost pages and whose evacuation is given up: the others can be written again, those stay dead.
TEST_P(PromotionTest, AnEvacuationThatIsGivenUpLeavesDeadPagesDead) {
  std::vector<Object*> objects;
  while (objects.size() < 2 * core::kBlockSize / 40) objects.push_back(allocate(&node_type.table));
  size_t block = core::arena.block_index(reinterpret_cast<uintptr_t>(objects[objects.size() / 2]));
  auto in_block = [block](Object* object) { return core::arena.block_index(reinterpret_cast<uintptr_t>(object)) == block; };
  auto first = std::find_if(objects.begin(), objects.end(), in_block);
  for (size_t i = 1'000; i < 11'000; i++) ASSERT_EQ(heap::delete_object(first[static_cast<ptrdiff_t>(i)]), DeleteResult::kDeleted);
  heap::collect();
  ASSERT_TRUE(core::arena.blocks[block].partly_released);
  ASSERT_TRUE(heap::claim_for_evacuation(block) && heap::begin_evacuation(block));
  uint64_t value;
  EXPECT_TRUE(core::try_load(reinterpret_cast<uint64_t*>(first[0]), &value));
  EXPECT_FALSE(core::try_store(reinterpret_cast<uint32_t*>(first[0]) + 2, 7));
  heap::give_up_evacuation(block);
  EXPECT_TRUE(core::try_store(reinterpret_cast<uint32_t*>(first[0]) + 2, 7));
  EXPECT_TRUE(core::try_store(reinterpret_cast<uint32_t*>(first[20'000]) + 2, 7));
  EXPECT_FALSE(core::try_load(reinterpret_cast<uint64_t*>(first[5'000]), &value));
  EXPECT_EQ(heap::delete_object(first[5'000]), DeleteResult::kDangling);
  expect_valid("afterwards");
}

TEST_P(PromotionTest, OneThreadAndEverythingMoves) { run_threads(1, 150'000, PromotionScope::kAll); }
TEST_P(PromotionTest, FourThreadsAndEverythingMoves) { run_threads(4, 60'000, PromotionScope::kAll); }
TEST_P(PromotionTest, FourThreadsAndRemaps) { run_threads(4, 100'000, PromotionScope::kAll, true); }
TEST_P(PromotionTest, FourThreadsAndRemapsAreAllThatPatches) {
  core::knobs.stress.fault = true;
  run_threads(4, 60'000, PromotionScope::kAll, true);
}
TEST_P(PromotionTest, FourThreadsAndShortRounds) { run_threads(4, 100'000, PromotionScope::kRandom); }
TEST_P(PromotionTest, FourThreadsAndSparseBlocksMove) { run_threads(4, 200'000, PromotionScope::kSparse); }

// What it frees is there then: no reason for an OutOfMemoryException.
TEST_P(PromotionTest, AnAllocationAtTheLimitWaitsForTheRoundOfAnother) {
  static constexpr heap::RemapSupport kSupport = {stop, [](void (*)(uint8_t*, uint8_t*, void*), void*) {},
                                                  [](void (*work)(void*), void* argument) { work(argument); }};
  heap::set_remap_support(&kSupport);
  constexpr size_t kLimit = size_t{64} << 20;
  size_t before = heap::limit();
  heap::set_limit(kLimit);
  std::vector<Object*> objects;
  while (heap::resident_memory() < kLimit - 4 * core::kBlockSize) objects.push_back(allocate(&node_type.table));
  for (size_t i = 0; i < objects.size(); i++) {
    if (i % 4 != 0) {
      ASSERT_EQ(heap::delete_object(objects[i]), DeleteResult::kDeleted);
    }
  }
  std::atomic<bool> holds{false};
  std::thread other([&] {
    heap::PromotionPause pause;
    holds = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  });
  while (!holds) std::this_thread::yield();
  size_t missing = 0;
  for (size_t i = 0; i < objects.size() / 2; i++) missing += allocate(&node_type.table) == nullptr ? 1 : 0;
  other.join();
  heap::set_limit(before);
  EXPECT_EQ(missing, 0u);
  EXPECT_GT(heap::promotion_counters.objects.load(), 0u);
  expect_valid("after the round");
}

INSTANTIATE_TEST_SUITE_P(Protections, PromotionTest, ::testing::Values(core::Protection::kUserfaultfd, core::Protection::kMprotect),
                         [](const auto& info) { return info.param == core::Protection::kUserfaultfd ? "userfaultfd" : "mprotect"; });

}  // namespace
}  // namespace freehold::testing
