#include <gtest/gtest.h>
#include <sys/wait.h>

#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "compiled.h"
#include "faults.h"
#include "os.h"

namespace freehold::bridge::test {
namespace {

TEST(Threads, AStopWaitsForAThreadThatIsInside) {
  std::atomic<int> step{0};
  std::thread other([&] {
    Compiled compiled;
    step = 1;
    while (step.load() != 2) {}
    // Not outside until here.
    step = 3;
    poll();
    step = 4;
  });
  while (step.load() != 1) os::pause(100);
  std::thread stopper([&] {
    threads::stop();
    EXPECT_EQ(step.load(), 3);
    os::pause(20'000);
    EXPECT_EQ(step.load(), 3) << "it went on while stopped";
    threads::resume();
  });
  os::pause(20'000);
  step = 2;
  stopper.join();
  other.join();
  EXPECT_EQ(step.load(), 4);
}

TEST(Threads, AThreadThatIsOutsideDelaysNoStopAndWaitsBeforeItComesIn) {
  std::atomic<int> step{0};
  std::thread other([&] {
    Compiled compiled;
    OneRecord record;
    __freehold_call_out(&record);
    step = 1;
    while (step.load() != 2) os::pause(100);
    __freehold_call_back(&record);
    step = 3;
  });
  while (step.load() != 1) os::pause(100);
  threads::stop();
  step = 2;
  os::pause(20'000);
  EXPECT_EQ(step.load(), 2);
  threads::resume();
  other.join();
  EXPECT_EQ(step.load(), 3);
}

TEST(Threads, RecordsLeaveInAnyOrder) {
  Compiled compiled;
  Thread& thread = threads::current();
  PinRecord* newest = __freehold_newest_pin();
  OneRecord a, b, c;
  threads::link(thread, a);
  threads::link(thread, b);
  threads::link(thread, c);
  threads::unlink(b);
  threads::unlink(a);
  EXPECT_EQ(__freehold_newest_pin(), &c);
  __freehold_unwind_pins(newest);
  EXPECT_EQ(__freehold_newest_pin(), newest);
}

TEST(Threads, TheChildOfAForkGoesOn) {
  Compiled compiled;
  void* made = __freehold_malloc(100);
  strcpy(at<char>(made), "parent");
  std::atomic<bool> end{false};
  std::thread other([&] {
    Compiled inside;
    while (!end) {
      __freehold_free(__freehold_malloc(50));
      poll();
    }
  });
  for (int i = 0; i < 5; i++) {
    pid_t child = fork();
    if (child == 0) {
      alarm(60);
      for (int n = 0; n < 1000; n++) __freehold_free(__freehold_malloc(static_cast<size_t>(n)));
      move_everything();
      _exit(strcmp(at<char>(made), "parent") == 0 ? 0 : 1);
    }
    int status = 1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  end = true;
  other.join();
  __freehold_free(made);
}

// Threads allocate, free, write, check, pin and poll, each its own objects and some that they hand on, while another one moves everything and a
// last one runs the defragmenter's rounds.
TEST(Threads, ModelOfAllocationPinsAndMoves) {
  constexpr int kThreads = 3, kRounds = 20000;
  std::atomic<void*> shared[16] = {};
  std::atomic<int> running{kThreads};
  auto fill = [](void* pointer, size_t size) {
    for (size_t i = 0; i < size; i++) at(pointer)[i] = static_cast<uint8_t>(id(pointer) * 7 + i);
  };
  auto is_whole = [](void* pointer, size_t size) {
    for (size_t i = 0; i < size; i++) {
      if (at(pointer)[i] != static_cast<uint8_t>(id(pointer) * 7 + i)) return false;
    }
    return true;
  };
  std::vector<std::thread> all;
  for (int t = 0; t < kThreads; t++) {
    all.emplace_back([&, t] {
      Compiled compiled;
      std::mt19937 random(static_cast<unsigned>(t));
      std::vector<std::pair<void*, size_t>> mine;
      for (int round = 0; round < kRounds; round++) {
        unsigned what = random() % 8;
        if (what < 3 || mine.empty()) {
          size_t size = random() % 100 == 0 ? 1 + random() % 40000 : 1 + random() % 300;
          void* made = __freehold_malloc(size);
          fill(made, size);
          mine.emplace_back(made, size);
        } else if (what == 3) {
          size_t i = random() % mine.size();
          ASSERT_TRUE(is_whole(mine[i].first, mine[i].second));
          __freehold_free(mine[i].first);
          mine[i] = mine.back();
          mine.pop_back();
        } else if (what == 4) {
          // A loop that has translated, and is stopped.
          size_t i = random() % mine.size();
          uint8_t* address = at(mine[i].first);
          poll(mine[i].first);
          ASSERT_EQ(address, at(mine[i].first));
          ASSERT_TRUE(is_whole(mine[i].first, mine[i].second));
        } else if (what == 5) {
          // Uncompiled code works on an address.
          size_t i = random() % mine.size();
          OneRecord record;
          auto* address = static_cast<uint8_t*>(__freehold_pin(mine[i].first, &record.slot));
          __freehold_call_out(&record);
          uint8_t first = address[0];
          address[0] = first;
          EXPECT_EQ(first, static_cast<uint8_t>(id(mine[i].first) * 7));
          __freehold_call_back(&record);
        } else if (what == 6) {
          // An object of 64 bytes changes hands.
          void* given = __freehold_malloc(64);
          fill(given, 64);
          void* taken = shared[random() % 16].exchange(given);
          if (taken != nullptr) {
            ASSERT_TRUE(is_whole(taken, 64));
            __freehold_free(taken);
          }
        } else {
          poll();
        }
        if (threads::current().stop->load() != 0) poll();
        if (mine.size() > 500) {
          for (auto& [pointer, size] : mine) {
            ASSERT_TRUE(is_whole(pointer, size));
            __freehold_free(pointer);
          }
          mine.clear();
        }
      }
      for (auto& [pointer, size] : mine) __freehold_free(pointer);
      running--;
    });
  }
  std::thread mover([&] {
    while (running != 0) {
      defragmenter.move_everything();
      os::pause(500);
    }
  });
  Bounds bounds;
  bounds.overhead = 0.5;
  while (running != 0) defragmenter.run_round(bounds);
  for (auto& thread : all) thread.join();
  mover.join();
  Compiled compiled;
  for (auto& one : shared) {
    if (one != nullptr) __freehold_free(one);
  }
  EXPECT_EQ(heap.verify(), nullptr);
}

// Not compiled with handles: the compiler of this file knows none.
__attribute__((noinline)) int sum(const volatile int* numbers, int count) {
  int total = 0;
  for (int i = 0; i < count; i++) total += numbers[i];
  return total;
}

TEST(Faults, AHandleInUncompiledCodeIsAsGoodAsAnAddress) {
  Compiled compiled;
  void* made = __freehold_malloc(100 * sizeof(int));
  for (int i = 0; i < 100; i++) at<int>(made)[i] = i;
  uint64_t before = faults::repaired();
  EXPECT_EQ(sum(static_cast<int*>(made), 100), 4950);
  EXPECT_GT(faults::repaired(), before);
  // String instructions: both ends, many steps.
  void* other = __freehold_malloc(400);
  void* from = made;
  void* to = other;
  size_t count = 400;
  asm volatile("rep movsb" : "+S"(from), "+D"(to), "+c"(count) : : "memory");
  EXPECT_EQ(from, static_cast<char*>(made) + 400);
  EXPECT_EQ(to, static_cast<char*>(other) + 400);
  EXPECT_EQ(at<int>(other)[99], 99);
  // A loaded value takes the handle's register.
  *at<void*>(other) = made;
  void* value = other;
  asm volatile("mov (%0), %0" : "+r"(value) : : "memory");
  EXPECT_EQ(value, made);
  uint8_t* address = at(made);
  move_everything();
  EXPECT_NE(at(made), address) << "nothing stays pinned";
  __freehold_free(made);
  __freehold_free(other);
}

TEST(FaultsDeathTest, AUseAfterFreeIsReported) {
  Compiled compiled;
  void* made = __freehold_malloc(100);
  __freehold_free(made);
  EXPECT_DEATH(sum(static_cast<int*>(made), 1), "use after free: handle [0-9a-f]+");
}

TEST(FaultsDeathTest, OtherFaultsAreNotTakenOver) { EXPECT_EXIT(sum(reinterpret_cast<int*>(64), 1), testing::KilledBySignal(SIGSEGV), ""); }

TEST(Interposed, FreeTakesHandlesAndAddressesOfObjects) {
  void* first;
  void* second;
  uint8_t* address;
  {
    Compiled compiled;
    first = __freehold_malloc(30);
    second = __freehold_malloc(30);
    address = at(second);
  }
  free(first);
  free(address);
  EXPECT_TRUE(HandleTable::is_freed(reinterpret_cast<uint64_t>(first)));
  EXPECT_TRUE(HandleTable::is_freed(reinterpret_cast<uint64_t>(second)));
  free(malloc(10));
  void* grown;
  {
    Compiled compiled;
    grown = __freehold_malloc(30);
    strcpy(at<char>(grown), "text");
    address = at(grown);
  }
  auto* plain = static_cast<char*>(realloc(address, 3000));
  EXPECT_FALSE(is_handle(plain));
  EXPECT_STREQ(plain, "text");
  free(plain);
}

}  // namespace
}  // namespace freehold::bridge::test
