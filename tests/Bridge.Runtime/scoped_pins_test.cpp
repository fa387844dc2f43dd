// Pins by code without handles (control.cpp), and the budget of memory.
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <thread>
#include <vector>

#include "Platform/memory_budget.h"
#include "compiled.h"
#include "scoped_pins.h"

struct PinnedObject {
  uint64_t address, offset, size, place;
};
extern "C" int32_t freehold_handles_pin(uint64_t handle, PinnedObject* object);
extern "C" int32_t freehold_handles_unpin(uint64_t handle, uint64_t place);
extern "C" const char* freehold_handles_verify();

namespace freehold::bridge::test {
namespace {

constexpr int32_t kLive = 0, kPlain = 1, kFreed = 2, kUnknown = 3, kOutside = 4;

uint64_t value(void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

TEST(ScopedPins, TheObjectStaysUntilTheLastPinGoes) {
  for (size_t size : {40u, 5000u, 100'000u}) {
    void* made;
    {
      Compiled compiled;
      made = __freehold_malloc(size);
    }
    PinnedObject first, second;
    ASSERT_EQ(freehold_handles_pin(value(made), &first), kLive);
    ASSERT_EQ(freehold_handles_pin(value(made) + 8, &second), kLive);
    EXPECT_EQ(second.address, first.address + 8);
    EXPECT_EQ(second.offset, 8u);
    EXPECT_GE(first.size, size);
    EXPECT_EQ(first.address, value(at(made)));
    defragmenter.move_everything();
    EXPECT_EQ(value(at(made)), first.address);
    EXPECT_EQ(freehold_handles_unpin(value(made), first.place), 1);
    EXPECT_EQ(freehold_handles_unpin(value(made), first.place), 0);
    defragmenter.move_everything();
    EXPECT_EQ(value(at(made)), first.address);
    EXPECT_EQ(freehold_handles_unpin(value(made) + 8, second.place), 1);
    defragmenter.move_everything();
    EXPECT_NE(value(at(made)), first.address);
    Compiled compiled;
    __freehold_free(made);
  }
}

TEST(ScopedPins, WhatIsNoLiveHandleIsTold) {
  PinnedObject object;
  int local;
  EXPECT_EQ(freehold_handles_pin(value(&local), &object), kPlain);
  void* made;
  {
    Compiled compiled;
    made = __freehold_malloc(64);
  }
  EXPECT_EQ(freehold_handles_pin(value(made) + 64, &object), kLive);  // the end
  EXPECT_EQ(freehold_handles_unpin(value(made) + 64, object.place), 1);
  EXPECT_EQ(freehold_handles_pin(value(made) + 65, &object), kOutside);
  EXPECT_EQ(freehold_handles_pin(value(made) - 1, &object), kOutside);
  EXPECT_EQ(object.size, 64u);
  {
    Compiled compiled;
    __freehold_free(made);
  }
  EXPECT_EQ(freehold_handles_pin(value(made), &object), kFreed);
  EXPECT_EQ(freehold_handles_pin(HandleTable::handle(0x7000'0000, 0), &object), kUnknown);
}

// The pin names an object that is no more, and later one that has its id: neither harms.
TEST(ScopedPins, AnObjectThatIsFreedWhileItIsPinnedHarmsNothing) {
  PinnedObject object;
  void* made;
  {
    Compiled compiled;
    made = __freehold_malloc(64);
  }
  ASSERT_EQ(freehold_handles_pin(value(made), &object), kLive);
  std::vector<void*> others;
  {
    Compiled compiled;
    __freehold_free(made);
    // Its id comes round.
    for (size_t i = 0; i < 3 * HandleTable::kQuarantine; i++) __freehold_free(__freehold_malloc(64));
    for (int i = 0; i < 2000; i++) others.push_back(__freehold_malloc(64));
  }
  defragmenter.move_everything();
  EXPECT_EQ(freehold_handles_unpin(value(made), object.place), 1);
  defragmenter.move_everything();
  EXPECT_EQ(freehold_handles_verify(), nullptr);
  Compiled compiled;
  for (void* one : others) __freehold_free(one);
}

TEST(ScopedPins, ThreadsPinWhileEverythingMoves) {
  std::vector<void*> objects;
  {
    Compiled compiled;
    for (uint64_t i = 0; i < 50; i++) {
      objects.push_back(__freehold_malloc(128));
      *at<uint64_t>(objects.back()) = i;
    }
  }
  std::atomic<bool> stop{false};
  std::thread mover([&] {
    while (!stop) defragmenter.move_everything();
  });
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 3; t++) {
    threads.emplace_back([&, t] {
      for (uint64_t i = 0; i < 3000; i++) {
        uint64_t which = (i * 7 + static_cast<uint64_t>(t)) % 50;
        PinnedObject object;
        if (freehold_handles_pin(value(objects[which]), &object) != kLive) wrong++;
        for (int k = 0; k < 20; k++) wrong += *reinterpret_cast<volatile uint64_t*>(object.address) != which;
        wrong += freehold_handles_unpin(value(objects[which]), object.place) != 1;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  stop = true;
  mover.join();
  EXPECT_EQ(wrong.load(), 0);
  EXPECT_EQ(scoped_pins.count(), 0u);
  Compiled compiled;
  for (void* one : objects) __freehold_free(one);
}

// A copy of a pin that was let go, after another pin of the same object has taken its place.
TEST(ScopedPins, AStaleCopyLetsNobodyElseGo) {
  void* made;
  {
    Compiled compiled;
    made = __freehold_malloc(64);
  }
  PinnedObject first, second;
  ASSERT_EQ(freehold_handles_pin(value(made), &first), kLive);
  ASSERT_EQ(freehold_handles_unpin(value(made), first.place), 1);
  ASSERT_EQ(freehold_handles_pin(value(made), &second), kLive);
  EXPECT_EQ(freehold_handles_unpin(value(made), first.place), 0);
  defragmenter.move_everything();
  EXPECT_EQ(value(at(made)), second.address);
  EXPECT_EQ(freehold_handles_unpin(value(made), second.place), 1);
  EXPECT_EQ(freehold_handles_unpin(value(made), second.place), 0);
  EXPECT_EQ(scoped_pins.count(), 0u);
  Compiled compiled;
  __freehold_free(made);
}

void* pinned_by_handler;
std::atomic<int> handled{0}, wrong_in_handler{0};
void pin_in_handler(int) {
  PinnedObject object;
  wrong_in_handler += freehold_handles_pin(value(pinned_by_handler), &object) != kLive;
  wrong_in_handler += freehold_handles_unpin(value(pinned_by_handler), object.place) != 1;
  handled++;
}

// The handler may have interrupted a pin of its own thread, anywhere.
TEST(ScopedPins, AHandlerPinsWhileItsThreadDoes) {
  {
    Compiled compiled;
    pinned_by_handler = __freehold_malloc(64);
  }
  struct sigaction action = {}, before;
  action.sa_handler = pin_in_handler;
  ASSERT_EQ(sigaction(SIGUSR1, &action, &before), 0);
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::thread pins([&] {
    while (!stop) {
      PinnedObject object;
      wrong += freehold_handles_pin(value(pinned_by_handler), &object) != kLive;
      wrong += freehold_handles_unpin(value(pinned_by_handler), object.place) != 1;
    }
  });
  constexpr int kSignals = 20'000;
  for (int i = 0; i < kSignals; i++) {
    int now = handled;
    pthread_kill(pins.native_handle(), SIGUSR1);
    while (handled == now) {}
  }
  stop = true;
  pins.join();
  sigaction(SIGUSR1, &before, nullptr);
  EXPECT_EQ(wrong + wrong_in_handler, 0);
  EXPECT_EQ(scoped_pins.count(), 0u);
  Compiled compiled;
  __freehold_free(pinned_by_handler);
}

// Threads that take and return places of the same list: none is given to two.
TEST(ScopedPins, PlacesAreTakenOnce) {
  ScopedPins pins;
  constexpr int kThreads = 4, kRounds = 20'000, kHeld = 8;
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < kThreads; t++) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kRounds; i++) {
        uint64_t held[kHeld], handle = uint64_t{1} << 63 | static_cast<uint64_t>(t * kRounds + i);
        for (uint64_t& pin : held) wrong += (pin = pins.add(handle)) == 0;
        for (uint64_t pin : held) {
          wrong += !pins.remove(pin, handle);
          wrong += pins.remove(pin, handle);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
  EXPECT_EQ(pins.count(), 0u);
  int left = 0;
  pins.for_each([&](uint64_t) { left++; });
  EXPECT_EQ(left, 0);
}

TEST(ScopedPins, AForkKeepsThem) {
  void* made;
  {
    Compiled compiled;
    made = __freehold_malloc(64);
  }
  PinnedObject object;
  ASSERT_EQ(freehold_handles_pin(value(made), &object), kLive);
  pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    defragmenter.move_everything();
    bool stays = value(at(made)) == object.address;
    freehold_handles_unpin(value(made), object.place);
    defragmenter.move_everything();
    _exit(stays && value(at(made)) != object.address ? 7 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 7 << 8);
  freehold_handles_unpin(value(made), object.place);
  Compiled compiled;
  __freehold_free(made);
}

std::atomic<uint64_t> others_hold{0};
constexpr freehold::os::BudgetOwner kOther = {"other", []() noexcept { return others_hold.load(); }, [](freehold::os::GiveBack) noexcept { others_hold = 0; },
                                              []() noexcept { return true; }};

TEST(BudgetOfHandles, OthersGiveBackBeforeAnAllocationFails) {
  freehold::os::join_budget(kOther);
  freehold::os::set_memory_limit(160 << 20);
  Compiled compiled;
  others_hold = 155 << 20;
  EXPECT_EQ(__freehold_malloc(20 << 20), nullptr);  // no thread is there to give back
  EXPECT_EQ(errno, ENOMEM);
  freehold::os::start_budget_thread();
  void* made = __freehold_malloc(20 << 20);
  EXPECT_NE(made, nullptr);
  EXPECT_EQ(others_hold.load(), 0u);
  __freehold_free(made);
  freehold::os::set_memory_limit(0);
}

}  // namespace
}  // namespace freehold::bridge::test
