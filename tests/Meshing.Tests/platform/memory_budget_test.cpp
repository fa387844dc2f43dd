// src/Platform/memory_budget.h with owners that only count, and the meshing malloc beside one of them.
#include "Platform/memory_budget.h"

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "mesh_fixture.h"

namespace freehold::os {
namespace {

constexpr uint64_t kMegabyte = 1 << 20;

// What an owner holds, and gives at each step.
struct Fake {
  std::atomic<uint64_t> held{0};
  std::atomic<uint64_t> gives[BudgetState::kSteps] = {};
  std::atomic<bool> may_wait{true};
};
Fake fakes[3];
std::atomic<bool> hold_round{false}, in_round{false};
std::string steps;  // written by the budget's thread; read after a round

template <int i>
void give_back(GiveBack how) noexcept {
  steps += static_cast<char>('a' + i);
  steps += static_cast<char>('0' + static_cast<int>(how));
  in_round = true;
  while (hold_round) pause(100);
  uint64_t given = fakes[i].gives[static_cast<int>(how)].exchange(0);
  fakes[i].held -= given;
}
template <int i>
constexpr BudgetOwner kFake = {"fake", []() noexcept { return fakes[i].held.load(); }, give_back<i>, []() noexcept { return fakes[i].may_wait.load(); }};

class MemoryBudget : public ::testing::Test {
 protected:
  void SetUp() override {
    for (Fake& fake : fakes) {
      fake.held = 0;
      for (auto& gives : fake.gives) gives = 0;
      fake.may_wait = true;
    }
    steps.clear();
    set_memory_limit(160 * kMegabyte);  // of which heaps may have 140
    join_budget(kFake<0>);
    join_budget(kFake<1>);
    join_budget(kFake<2>);
    start_budget_thread();
  }
  void TearDown() override { set_memory_limit(0); }
};

TEST_F(MemoryBudget, LeavesToEachWhatTheOthersDoNotHold) {
  fakes[1].held = 30 * kMegabyte;
  fakes[2].held = 20 * kMegabyte;
  EXPECT_EQ(room_in_budget(kFake<0>, false), 90 * kMegabyte);
  EXPECT_EQ(room_in_budget(kFake<0>, true), 110 * kMegabyte);
  EXPECT_EQ(room_in_budget(kFake<1>, false), 120 * kMegabyte);
  fakes[2].held = 500 * kMegabyte;
  EXPECT_EQ(room_in_budget(kFake<0>, true), 0u);
  set_memory_limit(0);
  EXPECT_EQ(room_in_budget(kFake<0>, false), UINT64_MAX);
  EXPECT_FALSE(ask_to_give_back(kFake<0>, 1));
}

TEST_F(MemoryBudget, TheOthersGiveBackFirstTheLargestFirstCheapStepsFirst) {
  fakes[0].held = 60 * kMegabyte;
  fakes[1].held = 30 * kMegabyte;
  fakes[2].held = 50 * kMegabyte;
  ASSERT_TRUE(ask_to_give_back(kFake<0>, kMegabyte));
  EXPECT_EQ(steps, "c0b0a0c1b1a1c2b2a2");
}

TEST_F(MemoryBudget, ARoundEndsWhenEnoughWasGivenBack) {
  fakes[0].held = 60 * kMegabyte;
  fakes[1].held = 30 * kMegabyte;
  fakes[2].held = 50 * kMegabyte;
  fakes[1].gives[1] = 20 * kMegabyte;
  BudgetFigures before = budget_figures();
  ASSERT_TRUE(ask_to_give_back(kFake<0>, 10 * kMegabyte));
  EXPECT_EQ(steps, "c0b0a0c1b1");
  BudgetFigures after = budget_figures();
  EXPECT_EQ(after.rounds, before.rounds + 1);
  EXPECT_EQ(after.given[1], before.given[1] + 20 * kMegabyte);
  EXPECT_EQ(fakes[1].held.load(), 10 * kMegabyte);
}

// What was measured of a round: whose turn it was, at what step, and what that gave.
TEST_F(MemoryBudget, TheLastTurnsAreKept) {
  fakes[0].held = 60 * kMegabyte;
  fakes[1].held = 30 * kMegabyte;
  fakes[2].held = 50 * kMegabyte;
  fakes[2].gives[0] = 2 * kMegabyte;
  fakes[1].gives[1] = 20 * kMegabyte;
  ASSERT_TRUE(ask_to_give_back(kFake<0>, 10 * kMegabyte));
  uint64_t round = budget_figures().rounds;
  BudgetTurn turns[kBudgetTurns];
  std::string found;
  uint64_t given = 0, held = 0;
  unsigned count = last_budget_turns(turns);
  for (unsigned i = 0; i < count; i++) {
    if (turns[i].round != round || strcmp(turns[i].owner, "fake") != 0) continue;  // the meshing malloc of other tests has joined too, and holds nothing
    found += std::to_string(turns[i].held / kMegabyte) + '-' + std::to_string(turns[i].given / kMegabyte) + '@' +
             std::to_string(static_cast<int>(turns[i].step)) + ' ';
    EXPECT_STREQ(turns[i].asker, "fake");
    given += turns[i].given;
    held = turns[i].held;
  }
  EXPECT_EQ(found, "50-2@0 30-0@0 60-0@0 48-0@1 30-20@1 ");
  EXPECT_EQ(given, 22 * kMegabyte);
  EXPECT_EQ(held, 30 * kMegabyte);
}

// More rounds than there is room for, while others read: what is read belongs together.
TEST_F(MemoryBudget, TurnsAreReadWhileRoundsGoOn) {
  std::atomic<bool> ended{false};
  std::atomic<uint64_t> read{0};
  std::thread reader([&] {
    BudgetTurn turns[kBudgetTurns];
    while (!ended) {
      unsigned count = last_budget_turns(turns);
      for (unsigned i = 1; i < count; i++) {
        bool in_order = turns[i - 1].round < turns[i].round || (turns[i - 1].round == turns[i].round && turns[i - 1].step <= turns[i].step);
        EXPECT_TRUE(in_order) << "round " << turns[i - 1].round << " before " << turns[i].round;
      }
      read += count;
    }
  });
  uint64_t begin = budget_figures().rounds;
  for (uint64_t i = 0; budget_figures().rounds < begin + 200 || read == 0; i++) {
    // Each time much has changed, so each question has a round.
    fakes[2].held = (150 + 10 * (i % 2)) * kMegabyte;
    ask_to_give_back(kFake<0>, kMegabyte);
  }
  ended = true;
  reader.join();
  BudgetTurn turns[kBudgetTurns];
  EXPECT_EQ(last_budget_turns(turns), kBudgetTurns);
}

// A full budget of what lives: an allocation must not cost a round each.
TEST_F(MemoryBudget, WhatARoundCannotWinIsNotAskedForAgainAtOnce) {
  fakes[2].held = 150 * kMegabyte;
  uint64_t before = budget_figures().rounds, began = nanoseconds();
  for (int i = 0; i < 100'000; i++) ask_to_give_back(kFake<0>, kMegabyte);
  // 20 ms, 40, … at most a second.
  EXPECT_LE(budget_figures().rounds - before, 8 + (nanoseconds() - began) / 1'000'000'000);
  // Something has changed.
  fakes[2].held = 100 * kMegabyte;
  before = budget_figures().rounds;
  EXPECT_TRUE(ask_to_give_back(kFake<0>, kMegabyte));
  EXPECT_EQ(budget_figures().rounds, before + 1);
  EXPECT_TRUE(ask_to_give_back(kFake<0>, kMegabyte));
}

TEST_F(MemoryBudget, WhatCouldNeverFitIsNotAskedFor) {
  uint64_t before = budget_figures().rounds;
  for (int i = 0; i < 100; i++) EXPECT_FALSE(ask_to_give_back(kFake<0>, 161 * kMegabyte));
  EXPECT_EQ(budget_figures().rounds, before);
}

TEST_F(MemoryBudget, ALimitOfTheContainerIsForSeveralOwners) {
  set_memory_limit(160 * kMegabyte, true);
  EXPECT_EQ(memory_limit(), 160 * kMegabyte);
  auto& owners = process_page().budget.owners;
  const BudgetOwner* others[BudgetState::kOwners];
  for (unsigned i = 0; i < BudgetState::kOwners; i++) {
    others[i] = owners[i].load();
    if (others[i] != &kFake<0>) owners[i] = nullptr;
  }
  EXPECT_EQ(memory_limit(), 0u);
  EXPECT_EQ(room_in_budget(kFake<0>, false), UINT64_MAX);
  EXPECT_FALSE(ask_to_give_back(kFake<0>, 1));
  set_memory_limit(160 * kMegabyte);
  EXPECT_EQ(room_in_budget(kFake<0>, false), 140 * kMegabyte) << "a limit that was asked for";
  for (unsigned i = 0; i < BudgetState::kOwners; i++) owners[i] = others[i];
}

TEST_F(MemoryBudget, WhoMayNotWaitIsNotKept) {
  fakes[2].held = 150 * kMegabyte;
  fakes[1].may_wait = false;
  EXPECT_FALSE(ask_to_give_back(kFake<0>, 1));
}

// A stop that begins while a thread waits would wait for the thread, and the thread for the round that makes the stop.
TEST_F(MemoryBudget, WhoWaitsGoesOnWhenAStopNeedsIt) {
  fakes[2].held = 150 * kMegabyte;
  hold_round = true;
  in_round = false;
  std::atomic<int> answer{-1};
  std::thread asker([&] { answer = ask_to_give_back(kFake<0>, 1); });
  while (!in_round) pause(100);
  EXPECT_EQ(answer.load(), -1);
  fakes[1].may_wait = false;
  asker.join();  // the round is held: nothing else ends its wait so soon
  EXPECT_EQ(answer.load(), 0);
  hold_round = false;
  fakes[1].may_wait = true;
  fakes[2].held = 0;
  EXPECT_TRUE(ask_to_give_back(kFake<0>, 1));
}

TEST_F(MemoryBudget, ManyThreadsAskAtOnce) {
  fakes[2].held = 150 * kMegabyte;
  std::vector<std::thread> threads;
  std::atomic<int> answered{0};
  for (int i = 0; i < 8; i++) {
    threads.emplace_back([&] {
      for (int k = 0; k < 50; k++) answered += ask_to_give_back(kFake<0>, 1);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(answered.load(), 0);
}

TEST_F(MemoryBudget, TheChildOfAForkHasAThreadWhenItStartsOne) {
  fakes[2].held = 150 * kMegabyte;
  pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(120);
    bool without = ask_to_give_back(kFake<0>, 1);
    start_budget_thread();
    bool with = ask_to_give_back(kFake<0>, 1);
    _exit(!without && with ? 7 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 7 << 8);
  EXPECT_TRUE(ask_to_give_back(kFake<0>, 1));
}

// Another thread of the parent had the page's lock, and its question was not answered.
TEST_F(MemoryBudget, TheChildOfAForkInheritsNoLockAndNoQuestion) {
  fakes[2].held = 150 * kMegabyte;
  hold_round = true;
  in_round = false;
  std::thread asker([] { ask_to_give_back(kFake<0>, 1); });
  while (!in_round) pause(100);
  process_page().lock.lock();
  pid_t child = fork();
  if (child == 0) {
    alarm(120);
    hold_round = false;
    leave_parents_budget();
    join_budget(kFake<0>);
    steps.clear();
    start_budget_thread();
    uint64_t before = budget_figures().rounds;
    bool answered = ask_to_give_back(kFake<0>, 1);
    leave_parents_budget();  // another part of Freehold: the thread stays
    fakes[2].held = 140 * kMegabyte;
    bool again = ask_to_give_back(kFake<0>, 1);
    _exit(answered && again && budget_figures().rounds == before + 2 ? 7 : 1);
  }
  process_page().lock.unlock();
  hold_round = false;
  asker.join();
  // The asker may have given up: no round goes over into another test.
  while (process_page().budget.done != process_page().budget.asked) pause(100);
  ASSERT_GE(child, 0);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 7 << 8);
}

// An owner of another library than the one whose thread it is: its own question cannot be waited for there.
TEST_F(MemoryBudget, WhoGivesBackDoesNotWaitForTheRoundItIsIn) {
  void* library = dlopen(FREEHOLD_PLATFORM_COPY, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  reinterpret_cast<void (*)()>(dlsym(library, "join_budget_of_copy"))();
  BudgetFigures before = budget_figures();
  EXPECT_TRUE(ask_to_give_back(kFake<0>, kMegabyte)) << "the round took longer than an asker waits";
  BudgetFigures after = budget_figures();
  EXPECT_GE(reinterpret_cast<int (*)()>(dlsym(library, "asked_of_copy"))(), 3);
  EXPECT_EQ(after.waits, before.waits + 1) << "only the question from outside was waited for";
  EXPECT_EQ(after.given_up, before.given_up);
  for (auto& entry : process_page().budget.owners) {
    if (entry == reinterpret_cast<const void* (*)()>(dlsym(library, "owner_of_copy"))()) entry = nullptr;
  }
}

TEST_F(MemoryBudget, TheEnvironmentsLimitIsASize) {
  const char* good[] = {"OTHER=1", "FREEHOLD_MEMORY_LIMIT=3G", nullptr};
  EXPECT_TRUE(read_memory_limit(good));
  EXPECT_EQ(memory_limit(), uint64_t{3} << 30);
  const char* bad[] = {"FREEHOLD_MEMORY_LIMIT=much", nullptr};
  EXPECT_FALSE(read_memory_limit(bad));
  const char* none[] = {"FREEHOLD_MEMORY_LIMIT=none", nullptr};
  EXPECT_TRUE(read_memory_limit(none));
  EXPECT_EQ(memory_limit(), 0u);
  const char* empty[] = {"FREEHOLD_MEMORY_LIMIT=", nullptr};
  EXPECT_TRUE(read_memory_limit(empty));
}

TEST(ProcessPage, LibrariesOfOneProcessShareIt) {
  void* library = dlopen(FREEHOLD_PLATFORM_COPY, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  auto find = reinterpret_cast<void* (*)()>(dlsym(library, "page_of_copy"));
  ASSERT_NE(find, nullptr);
  EXPECT_EQ(find(), &process_page());
}

TEST(ProcessPage, SaysWhoHasMappedAFixedAddress) {
  note_fixed_range(0x12345000, 0x3000, "a test");
  EXPECT_STREQ(owner_of_fixed_range(0x12347000, 0x1000), "a test");
  EXPECT_STREQ(owner_of_fixed_range(0x12344000, 0x1001), "a test");
  EXPECT_EQ(owner_of_fixed_range(0x12348000, 0x1000), nullptr);
  EXPECT_EQ(owner_of_fixed_range(0x12344000, 0x1000), nullptr);
}

}  // namespace
}  // namespace freehold::os

namespace freehold::mesh {
namespace {

using freehold::os::fakes;
using freehold::os::kFake;
using freehold::os::kMegabyte;

class BudgetOfMalloc : public testing::MeshTest {
 protected:
  void configure(Knobs&) override {
    freehold::os::set_memory_limit(160 * kMegabyte);
    for (auto& fake : fakes) fake.held = 0;
    for (auto& gives : fakes[1].gives) gives = 0;
    fakes[1].may_wait = true;
    freehold::os::join_budget(kFake<1>);
  }
  void TearDown() override {
    fakes[1].held = 0;
    freehold::os::set_memory_limit(0);
    MeshTest::TearDown();
  }
};

TEST_F(BudgetOfMalloc, OthersGiveBackBeforeAnAllocationFails) {
  freehold::os::start_budget_thread();
  fakes[1].held = 120 * kMegabyte;
  fakes[1].gives[2] = 100 * kMegabyte;
  void* large = allocate(50 * kMegabyte);
  EXPECT_NE(large, nullptr);
  EXPECT_EQ(fakes[1].held.load(), 20 * kMegabyte);
  deallocate(large);
}

TEST_F(BudgetOfMalloc, TheReserveIsTheLastThatItTakes) {
  fakes[1].held = 120 * kMegabyte;
  void* in_reserve = allocate(30 * kMegabyte);  // 140 are for all heaps
  EXPECT_NE(in_reserve, nullptr);
  EXPECT_EQ(allocate(15 * kMegabyte), nullptr);
  deallocate(in_reserve);
  void* again = allocate(30 * kMegabyte);
  EXPECT_NE(again, nullptr);
  deallocate(again);
}

TEST_F(BudgetOfMalloc, SmallObjectsEndAtTheLimitToo) {
  fakes[1].held = 150 * kMegabyte;
  std::vector<void*> all;
  while (void* one = allocate(1024)) {
    all.push_back(one);
    ASSERT_LT(all.size(), 20'000u);
  }
  EXPECT_GT(all.size(), 8'000u);
  EXPECT_LE(heap.arena.held_bytes(), 10 * kMegabyte);
  for (void* one : all) deallocate(one);
}

TEST_F(BudgetOfMalloc, WhatWaitsForItsNextUseIsGivenWhenAnotherHeapAsks) {
  std::vector<void*> all;
  for (int i = 0; i < 20'000; i++) all.push_back(allocate(1024));
  for (void* one : all) deallocate(one);
  freehold::os::start_budget_thread();
  uint64_t before = heap.arena.held_bytes();
  ASSERT_GT(before, 15 * kMegabyte);
  ASSERT_TRUE(freehold::os::ask_to_give_back(kFake<1>, 150 * kMegabyte));
  EXPECT_LT(heap.arena.held_bytes(), before / 4);
}

}  // namespace
}  // namespace freehold::mesh
