// Promotion under threads that go on allocating, linking, checking and deleting through names that are as old as they like. The model holds what
// every object must contain and whom it must refer to; nothing is compared by address, only by current_address().
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <list>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <thread>

#include "heap/cards.h"
#include "heap/dedangling.h"
#include "heap/forwarding.h"
#include "heap/pacing.h"
#include "heap/phases.h"
#include "heap/promotion.h"
#include "heap/promotion_counters.h"
#include "heap/promotion_policy.h"
#include "heap_fixture.h"

namespace freehold::testing {
namespace {

using core::Object;
using heap::DeleteResult;
using heap::PromotionScope;

uint64_t seed_of_run() {
  const char* given = getenv("FREEHOLD_TEST_SEED");
  return given != nullptr ? strtoull(given, nullptr, 10) : std::random_device()();
}

// Word `index` of an object, by whatever name: 0 is its type. Faults are answered as the runtime answers them.
uint64_t* word_of(Object* object, size_t index) { return reinterpret_cast<uint64_t*>(heap::current_address(reinterpret_cast<uintptr_t>(object))) + index; }

uint64_t load(Object* object, size_t index) {
  uint64_t value;
  while (!core::try_load(word_of(object, index), &value)) heap::wait_while_evacuating(reinterpret_cast<uintptr_t>(object));
  return value;
}

// References: with the write barrier.
void store(Object* object, size_t index, uint64_t value) {
  if (__atomic_load_n(&freehold_sweeping, __ATOMIC_RELAXED) != 0) value = freehold_current_name(value);
  while (true) {
    uint64_t* word = word_of(object, index);
    uint64_t before;
    bool swapped;
    if (heap::is_young(value)) heap::mark_cards(reinterpret_cast<uint8_t*>(word), sizeof value);
    if (core::try_load(word, &before) && core::try_compare_and_swap(word, before, value, &swapped)) {
      if (swapped) return;
    } else {
      heap::wait_while_evacuating(reinterpret_cast<uintptr_t>(word));
    }
  }
}

uint64_t name(uint64_t reference) { return heap::current_address(reference); }
uint64_t name(Object* object) { return heap::current_address(reinterpret_cast<uintptr_t>(object)); }

class PromotionTest : public HeapTest, public ::testing::WithParamInterface<core::Protection> {
 protected:
  void configure(core::Knobs& knobs) override {
    knobs.protection = GetParam();
    knobs.promotion = true;
  }

  struct Entry {
    Object* object;                   // a name of it, the first or a later one
    uint64_t content;                 // strings of bytes: their second word
    int64_t links[3] = {-1, -1, -1};  // nodes: to which entries
    bool node;
  };

  // A thread, and what it holds: what a sweep makes current while it has `safe`, which the thread has while it is not at a safe point.
  struct Mutator {
    std::mutex safe;
    std::map<int64_t, Entry> live;
  };

  static bool stop(void (*patch)(uint64_t*), void (*stopped)(void*), void* argument) {
    for (Mutator& mutator : mutators) mutator.safe.lock();
    for (Mutator& mutator : mutators) {
      for (auto& [id, entry] : mutator.live) {
        if (patch != nullptr) patch(reinterpret_cast<uint64_t*>(&entry.object));
      }
    }
    stopped(argument);
    for (Mutator& mutator : mutators) mutator.safe.unlock();
    return true;
  }
  static inline std::list<Mutator> mutators;
  static constexpr heap::SweepSupport kSweepSupport = {stop, [](void (*)(uint8_t*, uint8_t*, void*), void*) {}, nullptr};

  void SetUp() override {
    HeapTest::SetUp();
    mutators.clear();
    heap::set_sweep_support(&kSweepSupport);
  }

  static constexpr int kStepsToABlock = 45'000;

  // One thread's program.
  void run(uint64_t seed, int steps, Mutator& mutator) {
    std::mt19937_64 random(seed);
    heap::AllocationContext context = {};
    struct Leave {
      heap::AllocationContext* context;
      ~Leave() { heap::retire(context); }
    } leave = {&context};
    std::map<int64_t, Entry>& live = mutator.live;
    std::vector<int64_t> ids;
    int64_t next_id = 0;
    size_t target = 40'000;
    auto check = [&](int64_t id) {
      Entry& entry = live.at(id);
      if (!entry.node) {
        ASSERT_EQ(load(entry.object, 2), entry.content) << "seed " << seed;
        return;
      }
      for (size_t i = 0; i < 3; i++) {
        uint64_t reference = load(entry.object, 1 + i);
        auto other = entry.links[i] < 0 ? live.end() : live.find(entry.links[i]);
        if (entry.links[i] < 0) {
          ASSERT_EQ(reference, 0u) << "seed " << seed;
        } else if (other != live.end()) {
          ASSERT_TRUE(heap::is_same(reference, reinterpret_cast<uintptr_t>(other->second.object))) << "seed " << seed;
          if (random() % 4 == 0) other->second.object = reinterpret_cast<Object*>(reference);  // another name
        }
      }
    };
    for (int step = 0; step < steps; step++) {
      // By then a block is complete, and much of it lives. On a busy machine the threads could be done before the first round.
      if (step == kStepsToABlock) {
        for (uint64_t wanted = heap::promotion_counters.rounds.load() + 2; heap::promotion_counters.rounds.load() < wanted;)
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      std::lock_guard guard(mutator.safe);
      uint64_t draw = random();
      if (draw % 50'000 == 0 && step >= kStepsToABlock) target = size_t{1} << (8 + random() % 9);
      if (ids.size() < target || draw % 4 == 0) {
        Entry entry = {};
        entry.node = random() % 3 != 0;
        entry.object = entry.node ? allocate_with(&context, &node_type.table)
                                  : allocate_with(&context, &bytes_type.table, 8 + static_cast<uint32_t>(random() % (random() % 50 == 0 ? 20'000 : 100)));
        if (entry.object == nullptr) continue;  // an injected failure
        if (!entry.node) {
          entry.content = random();
          store(entry.object, 2, entry.content);
        }
        live[next_id] = entry;
        ids.push_back(next_id++);
      }
      if (ids.empty()) continue;
      size_t at = (draw >> 20) % ids.size();
      int64_t id = ids[at];
      ASSERT_NO_FATAL_FAILURE(check(id));
      if (Entry& entry = live.at(id); entry.node && draw % 2 == 0) {
        int64_t other = ids[(draw >> 40) % ids.size()];
        size_t link = draw % 3;
        store(entry.object, 1 + link, reinterpret_cast<uint64_t>(live.at(other).object));
        entry.links[link] = other;
      }
      while (ids.size() > target || (draw % 5 == 0 && !ids.empty())) {
        size_t which = random() % ids.size();
        int64_t gone = ids[which];
        ids[which] = ids.back();
        ids.pop_back();
        ASSERT_NO_FATAL_FAILURE(check(gone));
        Object* object = live.at(gone).object;
        live.erase(gone);
        ASSERT_EQ(heap::delete_object(object), DeleteResult::kDeleted) << "seed " << seed;
        DeleteResult again = heap::delete_object(object);
        ASSERT_TRUE(again == DeleteResult::kAlreadyDeleted || again == DeleteResult::kDangling) << "seed " << seed;
        draw = 1;
      }
    }
    std::lock_guard guard(mutator.safe);
    for (auto& [id, entry] : live) ASSERT_NO_FATAL_FAILURE(check(id));
    for (auto& [id, entry] : live) ASSERT_EQ(heap::delete_object(entry.object), DeleteResult::kDeleted) << "seed " << seed;
  }

  void run_threads(int threads, int steps, PromotionScope scope, bool sweep = false) {
    uint64_t seed = seed_of_run();
    SCOPED_TRACE("FREEHOLD_TEST_SEED=" + std::to_string(seed));
    printf("FREEHOLD_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
    size_t in_use = heap::total_bytes_in_use();
    std::atomic<int> running{threads};
    std::vector<std::thread> workers;
    for (int i = 0; i < threads; i++) mutators.emplace_back();
    for (int i = 0; i < threads; i++) {
      workers.emplace_back([&, i] {
        run(seed + static_cast<uint64_t>(i), steps, *std::next(mutators.begin(), i));
        running--;
      });
    }
    while (running.load() != 0) {
      heap::promote(scope);
      if (sweep) heap::dedangle();
      // Each round makes the way from an old name to the current one a step longer.
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    for (std::thread& worker : workers) worker.join();
    if (HasFatalFailure()) return;
    printf("promoted %llu objects of %llu blocks, %llu refused; %llu references patched\n", (unsigned long long)heap::promotion_counters.objects.load(),
           (unsigned long long)heap::promotion_counters.blocks.load(), (unsigned long long)heap::promotion_counters.refused.load(),
           (unsigned long long)heap::promotion_counters.patched.load());
    EXPECT_GT(heap::promotion_counters.objects.load(), 0u);
    if (sweep) {
      const heap::SweepCounters& sweeps = heap::sweep_counters;
      printf("%llu sweeps made %llu fields and %llu roots current\n", (unsigned long long)sweeps.sweeps.load(), (unsigned long long)sweeps.fields.load(),
             (unsigned long long)sweeps.roots.load());
      EXPECT_GT(sweeps.sweeps.load(), 0u);
      EXPECT_GT(sweeps.roots.load(), 0u);
      EXPECT_EQ(sweeps.abandoned.load(), 0u);
    }
    expect_valid("at the end of the threads");
    heap::unregister_thread();
    heap::collect();
    expect_valid("after everything was deleted");
    EXPECT_EQ(heap::total_bytes_in_use(), in_use);
  }

  // Fills blocks with objects of 40 bytes and deletes all but every n-th.
  std::vector<Object*> sparse_blocks(size_t blocks, size_t n) {
    std::vector<Object*> kept, all;
    for (size_t bytes = 0; bytes < blocks * core::kBlockSize; bytes += 40) all.push_back(allocate(&node_type.table));
    for (size_t i = 0; i < all.size(); i++) {
      if (i % n == 0) {
        *word_of(all[i], 1) = reinterpret_cast<uint64_t>(kept.empty() ? all[i] : kept.back());
        kept.push_back(all[i]);
      } else {
        EXPECT_EQ(heap::delete_object(all[i]), DeleteResult::kDeleted);
      }
    }
    return kept;
  }
};

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
  EXPECT_LT(static_cast<double>(heap::held_memory()), live * 19 / 16 + 2.0 * core::kBlockSize);
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

TEST_P(PromotionTest, ASweepMakesEveryNameCurrent) {
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
  EXPECT_EQ(heap::sweep_counters.abandoned.load(), 0u);
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
  expect_valid("after a sweep");
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
    expect_valid("after a sweep");
  }
  size_t visited = 0, used = heap::promoted_frontier(), table = used * core::kPagesPerBlock * sizeof(core::PageRecord);
  heap::for_each_lower_block([&](size_t block) { visited += block % core::kBlocksPerSegment >= core::kBlocksInGeneration0 ? 1 : 0; });
  EXPECT_GT(used, 100u);
  EXPECT_LT(visited, used / 2);
  EXPECT_LT(bytes_with_memory(&core::arena.pages[heap::promoted_block(0) * core::kPagesPerBlock], table), table / 2);
}

TEST_P(PromotionTest, WithoutAStopNothingIsSwept) {
  core::knobs.stress.fault = true;
  std::vector<Object*> kept = sparse_blocks(8, 10);
  ASSERT_GT(heap::promote(PromotionScope::kSparse), 0u);
  static constexpr heap::SweepSupport kNone = {[](void (*)(uint64_t*), void (*)(void*), void*) { return false; }, nullptr, nullptr};
  heap::set_sweep_support(&kNone);
  EXPECT_FALSE(heap::dedangle());
  EXPECT_EQ(freehold_sweeping, 0);
  EXPECT_GT(heap::forwarding_bytes(), 0u);
  for (size_t i = 1; i < kept.size(); i++) ASSERT_EQ(name(load(kept[i], 1)), name(kept[i - 1]));
}

TEST_P(PromotionTest, MovesDuringASweepAreMadeCurrent) {
  core::knobs.stress.fault = true;
  // References, and structures of one reference and 8 bytes that are none.
  static TypeOf<core::MethodTable::kHasPointers | core::MethodTable::kHasComponentSize | 8, 24> references_type = {
      {0, -24, 16, 1}, {core::MethodTable::kHasPointers | core::MethodTable::kHasComponentSize | 8, 24, nullptr, 0, 0, 0}};
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
    heap::set_sweeping(true);
    freehold_after_move(reinterpret_cast<uint8_t*>(words + 11), nullptr, 30 * 8);
    heap::set_sweeping(false);
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
  heap::hold_sweeps(true);
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
  // Freezing a block and forwarding it now take some milliseconds.
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

// Between the plan of a block's copies and its freeze: the copies are made, deleted, and count for the pages where they are.
TEST_P(PromotionTest, ObjectsMayDieBetweenPlanAndFreeze) {
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

TEST_P(PromotionTest, OneThreadAndEverythingMoves) { run_threads(1, 150'000, PromotionScope::kAll); }
TEST_P(PromotionTest, FourThreadsAndEverythingMoves) { run_threads(4, 60'000, PromotionScope::kAll); }
TEST_P(PromotionTest, FourThreadsAndSweeps) { run_threads(4, 100'000, PromotionScope::kAll, true); }
TEST_P(PromotionTest, FourThreadsAndSweepsAreAllThatPatches) {
  core::knobs.stress.fault = true;
  run_threads(4, 60'000, PromotionScope::kAll, true);
}
TEST_P(PromotionTest, FourThreadsAndShortRounds) { run_threads(4, 100'000, PromotionScope::kRandom); }
TEST_P(PromotionTest, FourThreadsAndSparseBlocksMove) { run_threads(4, 200'000, PromotionScope::kSparse); }

// What it frees is there then: no reason for an OutOfMemoryException.
TEST_P(PromotionTest, AnAllocationAtTheLimitWaitsForTheRoundOfAnother) {
  static constexpr heap::SweepSupport kSupport = {stop, [](void (*)(uint8_t*, uint8_t*, void*), void*) {},
                                                  [](void (*work)(void*), void* argument) { work(argument); }};
  heap::set_sweep_support(&kSupport);
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
