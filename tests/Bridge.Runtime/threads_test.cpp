#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "compiled.h"
#include "os.h"

extern "C" int __freehold_sigaction(int signal, const struct sigaction* action, struct sigaction* before);

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

TEST(Threads, AStopThatTakesTooLongIsGivenUpAndTheOthersGoOn) {
  std::atomic<bool> is_inside{false}, ends{false};
  std::atomic<uint64_t> polls{0};
  std::thread stubborn([&] {
    Compiled compiled;
    is_inside = true;
    while (!ends.load()) {}
  });
  std::thread other([&] {
    Compiled compiled;
    while (!ends.load()) {
      if (threads::current().stop->load() != 0) poll();
      polls++;
    }
  });
  while (!is_inside.load() || polls.load() == 0) os::pause(100);
  uint64_t abandoned = threads::stop_figures().abandoned;
  EXPECT_FALSE(threads::stop_within(1'000'000));
  EXPECT_EQ(threads::stop_figures().abandoned, abandoned + 1);
  // Whoever stood goes on, and nobody holds the lock.
  for (uint64_t before = polls.load(); polls.load() == before;) os::pause(100);
  {
    std::thread([] { Compiled compiled; }).join();
  }
  ends = true;
  stubborn.join();
  other.join();
  ASSERT_TRUE(threads::stop_within(60'000'000'000));
  threads::resume();
}

// Stops the threads again and again, with hardly a moment in between.
class Stopper {
 public:
  void wait_for_stop() const {
    while (!is_stopped_.load()) {}
  }
  void end() {
    ends_ = true;
    thread_.join();
  }

 private:
  void run() {
    while (!ends_.load()) {
      threads::stop();
      is_stopped_ = true;
      os::pause(200);
      is_stopped_ = false;
      threads::resume();
    }
  }

  std::atomic<bool> ends_{false}, is_stopped_{false};
  std::thread thread_{[this] { run(); }};
};

TEST(Threads, AThreadThatWaitsForAStopIsInsideBeforeTheNext) {
  threads::current();  // known before: whoever becomes known waits for the lock of a stop
  Stopper stopper;
  constexpr uint64_t kTimes = 301;
  uint64_t ended = 0;  // stops, while it came inside
  {
    Compiled compiled;
    for (uint64_t i = 0; i < kTimes; i++) {
      OneRecord record;
      __freehold_call_out(&record);
      stopper.wait_for_stop();
      uint64_t before = threads::stop_figures().stops;
      __freehold_call_back(&record);
      ended += threads::stop_figures().stops - before;
    }
  }
  stopper.end();
  // One each, and now and then more: the machine has no processor for it.
  EXPECT_LE(ended, 5 * kTimes);
}

// Threads that begin and end while one stop follows another: they wait for the same lock.
TEST(Threads, NewThreadsAreKnownBeforeTheNextStop) {
  Stopper stopper;
  constexpr uint64_t kThreads = 50;
  uint64_t ended = 0;
  for (uint64_t i = 0; i < kThreads; i++) {
    std::thread([&] {
      stopper.wait_for_stop();
      uint64_t before = threads::stop_figures().stops;
      { Compiled compiled; }
      ended += threads::stop_figures().stops - before;
    }).join();
  }
  stopper.end();
  EXPECT_LE(ended, 10 * kThreads);
}

bool is_kept(void* handle) {
  bool found = false;
  threads::current().pins.for_each([&](uint64_t one) { found |= one == reinterpret_cast<uint64_t>(handle); });
  return found;
}

TEST(Threads, RecordsLeaveInAnyOrder) {
  Compiled compiled;
  Thread& thread = threads::current();
  uint64_t before = __freehold_returning_twice();
  void* objects[] = {__freehold_malloc(10), __freehold_malloc(20)};
  // On another stack, as those of coroutines are: nobody but the records themselves says which of them live.
  std::vector<OneRecord> records(2);
  for (int first : {0, 1}) {
    for (int i : {0, 1}) {
      records[static_cast<size_t>(i)].slot = objects[i];
      threads::link(thread, records[static_cast<size_t>(i)]);
    }
    threads::unlink(thread, records[static_cast<size_t>(first)]);
    EXPECT_EQ(is_kept(objects[0]), first == 1);
    EXPECT_EQ(is_kept(objects[1]), first == 0);
    threads::unlink(thread, records[static_cast<size_t>(1 - first)]);
    EXPECT_EQ(__freehold_returning_twice(), before);
  }
  for (auto& record : records) threads::link(thread, record);
  __freehold_returned(before);
  EXPECT_EQ(__freehold_returning_twice(), before);
  for (void* object : objects) __freehold_free(object);
}

// As setjmp's second return is when uncompiled code has called longjmp, from a handler that interrupted the thread inside.
TEST(Threads, ASecondReturnComesInsideAndOutOfHandlers) {
  Compiled compiled;
  Thread& thread = threads::current();
  uint64_t before = __freehold_returning_twice();
  threads::begin_handler(thread, 0);
  EXPECT_FALSE(threads::may_leave(thread));
  OneRecord record;
  __freehold_call_out(&record);
  threads::leave(thread);
  __freehold_returned(before);
  EXPECT_FALSE(threads::is_outside(thread));
  EXPECT_TRUE(threads::may_leave(thread));
  EXPECT_EQ(__freehold_returning_twice(), before);
}

// longjmp: of the handlers, those go whose interrupted frames go; if one stays, the thread stays inside, and what frames have pinned too.
TEST(Threads, AJumpLeavesHandlersAndPinsBelowIt) {
  Compiled compiled;
  Thread& thread = threads::current();
  uint64_t before = __freehold_returning_twice();
  volatile uint64_t frames[8] = {};
  auto at = [&](int frame) { return reinterpret_cast<uintptr_t>(&frames[frame]); };
  void* object = __freehold_malloc(10);
  OneRecord record;
  record.slot = object;
  __freehold_call_out(&record);
  threads::enter(thread);
  threads::begin_handler(thread, at(6));
  threads::begin_handler(thread, at(2));
  threads::leave_frames(thread, at(4));
  EXPECT_EQ(thread.handlers, 1u);
  EXPECT_FALSE(threads::is_outside(thread));
  // One that was interrupted on another stack: nobody knows whether it goes on.
  threads::begin_handler(thread, 4096);
  threads::leave_frames(thread, at(7));
  EXPECT_EQ(thread.handlers, 2u);
  threads::end_handler(thread);
  // To another stack: likewise.
  threads::leave_frames(thread, 4096);
  EXPECT_EQ(thread.handlers, 1u);
  uint32_t depth = thread.pins.depth();
  threads::leave_frames(thread, at(7));
  EXPECT_EQ(thread.handlers, 0u);
  EXPECT_TRUE(threads::is_outside(thread));
  EXPECT_TRUE(reinterpret_cast<uintptr_t>(&record) < at(7) ? thread.pins.depth() < depth : thread.pins.depth() == depth);
  threads::enter(thread);
  threads::leave_frames(thread, reinterpret_cast<uintptr_t>(__builtin_frame_address(0)));
  EXPECT_TRUE(threads::is_outside(thread));
  __freehold_returned(before);
  EXPECT_FALSE(is_kept(object));
  __freehold_free(object);
}

// More handlers in each other than the thread notes: none of them is left.
TEST(Threads, AJumpOutOfManyHandlersStaysInside) {
  Compiled compiled;
  Thread& thread = threads::current();
  for (uint32_t i = 0; i <= kKnownHandlers; i++) threads::begin_handler(thread, reinterpret_cast<uintptr_t>(&thread) + i);
  threads::leave_frames(thread, reinterpret_cast<uintptr_t>(__builtin_frame_address(0)));
  EXPECT_EQ(thread.handlers, kKnownHandlers + 1);
  EXPECT_FALSE(threads::is_outside(thread));
  thread.handlers = 0;
}

// Between the words that say so and the look at the stop word a thread is not inside, and a handler there must not be.
std::atomic<int> handled{0};
TEST(Threads, AHandlerThatInterruptsTheWayInsideIsOutside) {
  Compiled compiled;
  struct sigaction action{};
  action.sa_handler = [](int) { handled = threads::is_outside(threads::current()) && threads::may_leave(threads::current()) ? 1 : 2; };
  ASSERT_EQ(__freehold_sigaction(SIGUSR1, &action, nullptr), 0);
  threads::current().entering = 1;
  raise(SIGUSR1);
  EXPECT_EQ(handled.exchange(0), 1);
  EXPECT_FALSE(threads::is_outside(threads::current()));
  EXPECT_EQ(threads::current().entering, 0u);
  raise(SIGUSR1);
  EXPECT_EQ(handled.exchange(0), 2);
  signal(SIGUSR1, SIG_DFL);
}

// A handler may have interrupted the C library's allocator: the bounds of the stack, for which that library allocates, are asked for later.
TEST(Threads, AThreadThatBecomesKnownInAHandlerAsksForItsStackLater) {
  std::thread([] {
    auto frame = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
    {
      threads::InHandler handler;
      { Compiled compiled; }
      EXPECT_FALSE(threads::current().pins.is_own(frame));
    }
    { Compiled compiled; }
    EXPECT_TRUE(threads::current().pins.is_own(frame));
  }).join();
  std::thread([] {
    { Compiled compiled; }
    EXPECT_TRUE(threads::current().pins.is_own(reinterpret_cast<uintptr_t>(__builtin_frame_address(0))));
  }).join();
}

// Compiled code in destructors of keys, up to the last round: then nobody tells that the thread has ended.
TEST(Threads, AThreadWhoseKeysRunCompiledCodeToTheEndIsForgotten) {
  static pthread_key_t key;
  static std::atomic<int> rounds{0};
  ASSERT_EQ(pthread_key_create(&key,
                               [](void* value) {
                                 { Compiled compiled; }
                                 rounds++;
                                 pthread_setspecific(key, value);
                               }),
            0);
  auto known = [] {
    int count = 0;
    threads::stop();
    threads::for_each([&](Thread&) { count++; });
    threads::resume();
    return count;
  };
  threads::current();
  int before = known();
  for (int i = 0; i < 3; i++) {
    std::thread([] {
      { Compiled compiled; }
      pthread_setspecific(key, &rounds);
    }).join();
  }
  EXPECT_EQ(rounds.load(), 3 * PTHREAD_DESTRUCTOR_ITERATIONS);
  EXPECT_EQ(known(), before);
  pthread_key_delete(key);
}

// Stacks of coroutines and of handlers in the memory of the thread's own: their frames live while the thread works above and below them.
void check_other_stacks() {
  Compiled compiled;
  Thread& thread = threads::current();
  void* object = __freehold_malloc(10);
  alignas(16) uint8_t inner[4096];
  auto& record = *new (inner + 2048) OneRecord;
  record.slot = object;
  auto low = reinterpret_cast<uintptr_t>(inner);
  auto drops = [&] {
    threads::link(thread, record);
    thread.pins.drop_below(low + sizeof inner + 1);
    bool kept = is_kept(object);
    if (kept) threads::unlink(thread, record);
    return !kept;
  };
  EXPECT_TRUE(drops());
  thread.pins.note_other_stack(low, low + sizeof inner);
  EXPECT_FALSE(drops());
  // What lies below is not dropped from there.
  OneRecord below;
  below.slot = object;
  if (reinterpret_cast<uintptr_t>(&below) < low) {
    threads::link(thread, below);
    thread.pins.drop_below(low + 100);
    EXPECT_TRUE(is_kept(object));
    threads::unlink(thread, below);
  }
  // More of them than are noted: then nothing is dropped.
  for (uintptr_t i = 0; i < 20; i++) thread.pins.note_other_stack(low + i * 16, low + i * 16 + 16);
  EXPECT_FALSE(drops());
  __freehold_free(object);
}
// In a thread of its own: what it notes stays.
TEST(Threads, FramesOnAStackInsideOfTheStackStay) { std::thread(check_other_stacks).join(); }

// A call whose frame ends without a call back. Its memory is written over before the next stop.
__attribute__((noinline)) void leave_frame(void* object) {
  OneRecord record;
  record.slot = object;
  __freehold_call_out(&record);
  memset(static_cast<void*>(&record), 0xee, sizeof record);
  asm volatile("" : : "r"(&record) : "memory");
}

TEST(Threads, FramesThatWereLeftDoNoHarmAndKeepNothingForLong) {
  Compiled compiled;
  void* object = __freehold_malloc(10);
  OneRecord record;
  __freehold_call_out(&record);
  for (int i = 0; i < 1000; i++) leave_frame(object);
  uint32_t depth = threads::current().pins.depth();
  EXPECT_LT(depth, 10u);
  threads::stop();
  EXPECT_TRUE(table.is_pinned(id(object)));
  threads::resume();
  __freehold_call_back(&record);
  EXPECT_FALSE(is_kept(object));
  __freehold_free(object);
}

TEST(Threads, MorePinsThanTheThreadHasRoomFor) {
  Compiled compiled;
  Thread& thread = threads::current();
  std::vector<void*> objects;
  struct : PinRecord {
    void* slots[3];
  } records[500];
  // As calls are nested: each further down the stack.
  for (size_t i = 500; i-- > 0;) {
    records[i].count = 3;
    for (void*& slot : records[i].slots) objects.push_back(slot = __freehold_malloc(10));
    threads::link(thread, records[i]);
  }
  for (void* object : objects) EXPECT_TRUE(is_kept(object));
  for (auto& record : records) threads::unlink(thread, record);
  for (void* object : objects) {
    EXPECT_FALSE(is_kept(object));
    __freehold_free(object);
  }
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

// A filter that comes after the start: without the barrier a thread might be taken for stopped.
TEST(ThreadsDeathTest, ARefusedBarrierEndsTheProcess) {
  auto stop_without_barrier = [] {
    sock_filter code[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
                          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    sock_fprog program = {static_cast<unsigned short>(std::size(code)), code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) _exit(1);
    threads::stop();
    threads::resume();
    _exit(2);
  };
  if (!freehold::os::membarrier()) GTEST_SKIP() << "the kernel has no membarrier";
  EXPECT_DEATH(stop_without_barrier(), "the kernel refuses membarrier");
}

}  // namespace
}  // namespace freehold::bridge::test
