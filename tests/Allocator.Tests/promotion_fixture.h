// A heap whose objects move, and threads that use them by whatever name.
#pragma once

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
#include "moving_words.h"

namespace freehold::testing {

using core::Object;
using heap::DeleteResult;
using heap::PromotionScope;

inline uint64_t name(uint64_t reference) { return heap::current_address(reference); }
inline uint64_t name(Object* object) { return heap::current_address(reinterpret_cast<uintptr_t>(object)); }

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

  // A thread, and what it holds: what a remap makes current while it has `safe`, which the thread has while it is not at a safe point.
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
  static constexpr heap::RemapSupport kRemapSupport = {stop, [](void (*)(uint8_t*, uint8_t*, void*), void*) {}, nullptr};

  void SetUp() override {
    HeapTest::SetUp();
    mutators.clear();
    heap::set_remap_support(&kRemapSupport);
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

  void run_threads(int threads, int steps, PromotionScope scope, bool remap = false) {
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
      if (remap) heap::dedangle();
      // Each round makes the way from an old name to the current one a step longer.
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    for (std::thread& worker : workers) worker.join();
    if (HasFatalFailure()) return;
    printf("promoted %llu objects of %llu blocks, %llu refused; %llu references patched\n", (unsigned long long)heap::promotion_counters.objects.load(),
           (unsigned long long)heap::promotion_counters.blocks.load(), (unsigned long long)heap::promotion_counters.refused.load(),
           (unsigned long long)heap::promotion_counters.patched.load());
    EXPECT_GT(heap::promotion_counters.objects.load(), 0u);
    if (remap) {
      const heap::RemapCounters& remaps = heap::remap_counters;
      printf("%llu remaps made %llu fields and %llu roots current\n", (unsigned long long)remaps.remaps.load(), (unsigned long long)remaps.fields.load(),
             (unsigned long long)remaps.roots.load());
      EXPECT_GT(remaps.remaps.load(), 0u);
      EXPECT_GT(remaps.roots.load(), 0u);
      EXPECT_EQ(remaps.abandoned.load(), 0u);
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

}  // namespace freehold::testing
