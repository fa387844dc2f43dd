// Threads that make, link and forget objects by whatever name, while objects move, remaps make names current, and reclaims are of all objects or of young ones, all at random.
// FREEHOLD_VERIFY's check follows each marking.
#include <atomic>
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

#include "heap/concurrent_reclaim.h"
#include "heap/marking_bounds.h"
#include "heap/reachability.h"
#include "heap/root_support.h"
#include "heap/young_blocks.h"
#include "promotion_fixture.h"

namespace freehold::testing {
namespace {

using heap::ReclaimScope;

class YoungReclaimRandomTest : public PromotionTest {
 protected:
  void configure(core::Knobs& knobs) override {
    PromotionTest::configure(knobs);
    knobs.verify = true;
    knobs.stress.promote = 1;  // small blocks
  }

  static constexpr size_t kHeld = 24;
  // As many steps as reclaims: each chunk takes addresses of a block, and they would come to their end.
  static constexpr int kStepsToAReclaim = 2'000, kRoundsToAReclaim = 3;
  static inline std::atomic<int> reclaims{0};
  static inline std::atomic<bool> ended{false};

  // Until the reclaim begins that belongs to step `step`. False: there are no more.
  static bool waits_for_turn(int step, int steps_to_a_reclaim) {
    while (!ended && step / steps_to_a_reclaim > reclaims) std::this_thread::yield();
    return !ended;
  }
  struct Program {
    std::mutex safe;  // while it is not at a safe point
    Object* held[kHeld] = {};
  };
  static inline std::vector<std::unique_ptr<Program>> programs;
  static inline std::vector<uint64_t> weak;

  static void stop_all(void (*stopped)(void*), void* argument) {
    for (auto& program : programs) program->safe.lock();
    stopped(argument);
    for (auto& program : programs) program->safe.unlock();
  }
  static void for_each_root(void (*fn)(uintptr_t, bool, void*), void* argument) {
    for (auto& program : programs) {
      for (Object* object : program->held) fn(reinterpret_cast<uintptr_t>(object), false, argument);
    }
  }
  static constexpr heap::RootSupport kRoots = {[](void (*stopped)(void*), void* argument) {
                                                 stop_all(stopped, argument);
                                                 return true;
                                               },
                                               for_each_root,
                                               [](void (*)(uintptr_t, uintptr_t, void*), void*) {},
                                               [](void (*)(uint8_t*, uint8_t*, void*), void*) {},
                                               [](void (*)(uint64_t*, void*), void*) {},
                                               []() {},
                                               [](ReclaimScope) {},
                                               [](ReclaimScope, bool) {},
                                               for_each_root,
                                               [](bool (*)(uintptr_t, bool, void*), void*) {}};
  static constexpr heap::RemapSupport kRemaps = {[](void (*patch)(uint64_t*), void (*stopped)(void*), void* argument) {
                                                   struct Both {
                                                     void (*patch)(uint64_t*);
                                                     void (*stopped)(void*);
                                                     void* argument;
                                                   } both = {patch, stopped, argument};
                                                   stop_all(
                                                       [](void* argument) {
                                                         auto& both = *static_cast<Both*>(argument);
                                                         for (auto& program : programs) {
                                                           for (Object*& object : program->held) {
                                                             if (both.patch != nullptr && object != nullptr) both.patch(reinterpret_cast<uint64_t*>(&object));
                                                           }
                                                         }
                                                         both.stopped(both.argument);
                                                       },
                                                       &both);
                                                   return true;
                                                 },
                                                 [](void (*)(uint8_t*, uint8_t*, void*), void*) {}, nullptr};

  void SetUp() override {
    PromotionTest::SetUp();
    programs.clear();
    heap::set_root_support(&kRoots);
    heap::set_remap_support(&kRemaps);
  }

  // A block move of one reference: the value is stored without a barrier, which looks at it behind. By a name that may be old by then.
  static void move_reference(Object* to, size_t to_word, Object* from, size_t from_word) {
    uint64_t value = testing::load(from, from_word), before;
    while (true) {
      uint64_t* word = word_of(to, to_word);
      bool swapped;
      if (core::try_load(word, &before) && core::try_compare_and_swap(word, before, value, &swapped)) {
        if (swapped) return freehold_after_move(reinterpret_cast<uint8_t*>(word), nullptr, sizeof(uint64_t));
      } else {
        heap::wait_while_evacuating(reinterpret_cast<uintptr_t>(word));
      }
    }
  }

  void run(uint64_t seed, Program& program) {
    std::mt19937_64 random(seed);
    heap::AllocationContext context = {};
    auto held = [&]() -> Object*& { return program.held[random() % kHeld]; };
    for (int step = 0; waits_for_turn(step, kStepsToAReclaim); step++) {
      std::lock_guard guard(program.safe);
      Object *&first = held(), *&second = held();
      switch (random() % 12) {
        case 0:
        case 1:
        case 2:
        case 3: {
          Object* made = allocate_with(&context, &node_type.table);
          ASSERT_NE(made, nullptr);
          for (size_t word = 1; word <= 2; word++) {
            if (Object* to = held(); to != nullptr && random() % 3 == 0) testing::store(made, word, reinterpret_cast<uint64_t>(to));
          }
          first = made;
          break;
        }
        case 4:
        case 5:
          if (first != nullptr && second != nullptr) testing::store(first, 1 + random() % 3, reinterpret_cast<uint64_t>(second));
          break;
        case 6:
          if (first != nullptr && second != nullptr) move_reference(first, 1 + random() % 3, second, 1 + random() % 3);
          break;
        case 7:
        case 8:
        case 9:
          if (first != nullptr) {
            if (uint64_t value = testing::load(first, 1 + random() % 3); value != 0) second = reinterpret_cast<Object*>(value);
          }
          break;
        case 10:
          if (random() % 8 == 0) first = nullptr;
          break;
        default:
          for (int i = 0; i < 20; i++) ASSERT_NE(allocate_with(&context, &node_type.table), nullptr);  // nobody keeps it
      }
    }
    std::lock_guard guard(program.safe);
    heap::retire(&context);
    heap::unregister_thread();
  }

  // Nothing that a program can come to is deleted.
  static void expect_reachable_lives(const Program& program) {
    std::vector<Object*> todo(program.held, program.held + kHeld);
    std::set<uint64_t> seen;
    while (!todo.empty()) {
      Object* object = todo.back();
      todo.pop_back();
      if (object == nullptr || !seen.insert(name(object)).second) continue;
      ASSERT_FALSE(heap::is_deleted(reinterpret_cast<Object*>(name(object))));
      for (size_t word = 1; word <= 3; word++) todo.push_back(reinterpret_cast<Object*>(testing::load(object, word)));
    }
  }
};

TEST_P(YoungReclaimRandomTest, NothingReachableGoes) {
  const uint64_t seed = seed_of_run();
  printf("seed %llu\n", static_cast<unsigned long long>(seed));
  constexpr int kThreads = 3, kReclaims = 120;
  for (int i = 0; i < kThreads; i++) programs.push_back(std::make_unique<Program>());
  reclaims = 0;
  ended = false;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; i++) threads.emplace_back([&, i] { run(seed + static_cast<uint64_t>(i), *programs[static_cast<size_t>(i)]); });
  threads.emplace_back([&] {
    std::mt19937_64 random(seed + 100);
    for (int round = 0; waits_for_turn(round, kRoundsToAReclaim); round++) {
      heap::promote(random() % 2 == 0 ? PromotionScope::kRandom : PromotionScope::kYoung);
      if (random() % 8 == 0) heap::dedangle();
    }
    heap::unregister_thread();
  });
  std::mt19937_64 random(seed + 200);
  for (; reclaims < kReclaims; reclaims++) {
    if (random() % 4 == 0) heap::marking_bounds = {1 + random() % 4, random() % 2, random() % 3, random() % 20, 1};
    else heap::marking_bounds = {};
    ASSERT_GE(heap::reclaim(random() % 4 != 0 ? ReclaimScope::kYoung : ReclaimScope::kAll), 0);
  }
  ended = true;
  for (std::thread& thread : threads) thread.join();
  heap::marking_bounds = {};
  for (auto& program : programs) expect_reachable_lives(*program);
  printf("%llu young reclaims deleted %llu bytes, with %llu pages of roots; %llu of all objects; %llu objects moved\n",
         static_cast<unsigned long long>(heap::reachability_counters.young.load()),
         static_cast<unsigned long long>(heap::reachability_counters.young_bytes.load()),
         static_cast<unsigned long long>(heap::concurrent_reclaim_counters.young_cards.load()), static_cast<unsigned long long>(heap::reclaims()),
         static_cast<unsigned long long>(heap::promotion_counters.objects.load()));
  EXPECT_GT(heap::reachability_counters.young.load(), kReclaims / 2u);
  EXPECT_EQ(heap::concurrent_reclaim_counters.abandoned.load(), 0u);
  for (auto& program : programs) std::fill(std::begin(program->held), std::end(program->held), nullptr);
  heap::reclaim();
  expect_valid("after all");
  programs.clear();
}

INSTANTIATE_TEST_SUITE_P(Protections, YoungReclaimRandomTest, ::testing::Values(core::Protection::kMprotect, core::Protection::kAuto));

}  // namespace
}  // namespace freehold::testing
