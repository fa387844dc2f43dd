// What a program is told that uses a freed object, or frees what it must not.
#include "reports.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <string>
#include <thread>

#include "compiled.h"
#include "history.h"
#include "places.h"
#include "stack_store.h"

extern "C" thread_local uint64_t __freehold_group_state __attribute__((tls_model("initial-exec")));

namespace freehold::bridge::test {
namespace {

// Not compiled with handles.
__attribute__((noinline)) uint8_t read_from(const volatile uint8_t* bytes) { return bytes[3]; }

constexpr char kHandle[] = "^freehold: [a-z ]+: handle [0-9a-f]+ \\(id [0-9]+\\)";

struct Outcome {
  int status;
  std::string text;
};
// In a process of its own.
template <typename Body>
Outcome run(Body body) {
  int ends[2];
  if (pipe(ends) != 0) return {-1, "no pipe"};
  pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    alarm(120);
    body();
    _exit(0);
  }
  close(ends[1]);
  Outcome outcome = {-1, ""};
  char part[4096];
  for (ssize_t got; (got = read(ends[0], part, sizeof part)) > 0;) outcome.text.append(part, static_cast<size_t>(got));
  close(ends[0]);
  waitpid(child, &outcome.status, 0);
  return outcome;
}
size_t count_of(const std::string& text, const std::string& what) {
  size_t count = 0;
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += what.size()) count++;
  return count;
}

TEST(ReportsDeathTest, TheSizeIsWhatWasAskedFor) {
  Compiled compiled;
  for (size_t size : {size_t{1}, size_t{40}, size_t{41}, size_t{9000}, size_t{3} << 20}) {
    void* made = __freehold_malloc(size);
    std::string expected = std::string(kHandle) + " of an object of " + std::to_string(size) +
                           " bytes?, by the call at [^ ]*bridge_runtime_tests\\+0x[0-9a-f]+.* in thread [0-9]+\n$";
    EXPECT_DEATH(
        __freehold_free(static_cast<char*>(made) + 16),
        "free of a pointer into an object: handle [0-9a-f]+ \\(id [0-9]+\\), [0-9]+ bytes? (into|behind) an object of " + std::to_string(size) + " byte");
    __freehold_free(made);
    EXPECT_DEATH(__freehold_free(made), expected);
    EXPECT_DEATH((void)__freehold_realloc(made, 10), expected);
  }
}

TEST(ReportsDeathTest, TheSizeIsThatOfTheLastRealloc) {
  Compiled compiled;
  void* made = __freehold_malloc(100);
  void* same = __freehold_realloc(made, 101);
  ASSERT_EQ(same, made) << "the slot has room";
  __freehold_keep(made, &same);
  ASSERT_EQ(__freehold_realloc(made, 102), made);
  EXPECT_TRUE(table.is_pinned(id(made))) << "a size does not touch pins";
  __freehold_free(made);
  EXPECT_DEATH(__freehold_free(made), " of an object of 102 bytes");
}

// Each call that takes the start of an object, with each kind of object. A slot's neighbour is the other one's, whatever the call says of it.
TEST(ReportsDeathTest, WhatTakesTheStartOfAnObjectTakesNothingElse) {
  Compiled compiled;
  struct Call {
    const char* name;
    void (*call)(void*);
  };
  const Call kCalls[] = {{"free", [](void* pointer) { __freehold_free(pointer); }},
                         {"realloc", [](void* pointer) { (void)__freehold_realloc(pointer, 48); }},
                         {"malloc_usable_size", [](void* pointer) { (void)__freehold_malloc_usable_size(pointer); }},
                         {"free", [](void* pointer) { free(pointer); }},
                         {"realloc", [](void* pointer) { asm volatile(""
                                                                      :
                                                                      : "r"(realloc(pointer, 48))); }},
                         {"malloc_usable_size", [](void* pointer) {
                            asm volatile("" : : "r"(malloc_usable_size(pointer)));
                          }}};
  for (uint64_t group : {0, 3}) {
    for (size_t size : {size_t{48}, size_t{9000}, size_t{3} << 20}) {
      __freehold_group_state = group << 56;
      void *before = __freehold_malloc(size), *made = __freehold_malloc(size), *behind = __freehold_malloc(size);
      __freehold_group_state = 0;
      auto* start = static_cast<char*>(made);
      for (const Call& call : kCalls) {
        std::string what = std::string("^freehold: ") + call.name + " of a pointer into an object: handle [0-9a-f]+ \\(id [0-9]+\\), ";
        std::string of = " an object of " + std::to_string(size) + " bytes, by the call at ";
        EXPECT_DEATH(call.call(start + 8), what + "8 bytes into" + of) << size << " " << group;
        EXPECT_DEATH(call.call(start - 8), what + "8 bytes before" + of) << size << " " << group;
        EXPECT_DEATH(call.call(start + size + 8), what + "8 bytes behind" + of) << size << " " << group;
        EXPECT_DEATH(call.call(at(made) + 8), what + "8 bytes into" + of) << size << " " << group;
      }
      for (void* one : {before, made, behind}) __freehold_free(one);
      for (const Call& call : kCalls) EXPECT_DEATH(call.call(made), "^freehold: .*: handle [0-9a-f]+ \\(id [0-9]+\\) of an object of ") << size << " " << group;
    }
  }
}

// From the queue, where an id has a link instead of a size; from another thread's list; and after many others.
TEST(ReportsDeathTest, TheSizeIsKeptWithTheQuarantine) {
  Compiled compiled;
  void* gone = __freehold_malloc(77);
  __freehold_free(gone);
  for (uint32_t i = 0; i < 2 * kMostIds; i++) __freehold_free(__freehold_malloc(16));
  EXPECT_DEATH(__freehold_free(gone), " of an object of 77 bytes");
  void* others[HandleTable::kRemembered];
  for (void*& other : others) other = __freehold_malloc(24);
  void* made = __freehold_malloc(78);
  __freehold_free(made);
  for (void* other : others) __freehold_free(other);
  for (uint32_t i = 0; i < kMostIds; i++) __freehold_free(__freehold_malloc(16));
  ASSERT_TRUE(table.is_freed(reinterpret_cast<uint64_t>(made)));
  EXPECT_DEATH(__freehold_free(made), "of an object that was freed long ago \\(FREEHOLD_DEBUG=1 keeps its size\\)");
  EXPECT_DEATH(__freehold_free(others[HandleTable::kRemembered - 1]), " of an object of 24 bytes");
}

TEST(ReportsDeathTest, AnotherThreadsFreeIsKnown) {
  Outcome outcome = run([] {
    Compiled compiled;
    void* made = __freehold_malloc(55);
    std::thread([made] {
      Compiled inside;
      __freehold_free(made);
      // It keeps the id, and lives on.
      OneRecord record;
      __freehold_call_out(&record);
      std::thread([made] {
        Compiled inner;
        read_from(static_cast<uint8_t*>(made));
      }).join();
      __freehold_call_back(&record);
    }).join();
  });
  EXPECT_TRUE(WIFSIGNALED(outcome.status) && WTERMSIG(outcome.status) == SIGABRT) << outcome.status;
  EXPECT_NE(outcome.text.find(" of an object of 55 bytes, by the instruction at "), std::string::npos) << outcome.text;
}

TEST(ReportsDeathTest, StacksOfAllocationAndFreeAndUse) {
  Outcome outcome = run([] {
    history::begin(true);
    Compiled compiled;
    void* made = __freehold_malloc(33);
    __freehold_free(made);
    read_from(static_cast<uint8_t*>(made));
  });
  for (const char* part : {"use after free", "33 bytes", "\n  allocated by thread ", "\n  freed by thread ", "\n  used:\n    /"}) {
    EXPECT_EQ(count_of(outcome.text, part), 1u) << part << " in\n" << outcome.text;
  }
  EXPECT_GT(count_of(outcome.text, "\n    "), 6u) << outcome.text;
  EXPECT_EQ(count_of(outcome.text, "not recorded"), 0u) << outcome.text;
}

TEST(ReportsDeathTest, DebugModeKeepsAMillionFreedObjects) {
  Outcome outcome = run([] {
    history::begin(false);
    Compiled compiled;
    void* made = __freehold_malloc(34);
    __freehold_free(made);
    for (size_t i = 0; i < HandleTable::kLongQuarantine - 2 * kMostIds; i++) __freehold_free(__freehold_malloc(16));
    __freehold_free(made);
  });
  EXPECT_NE(outcome.text.find("double free"), std::string::npos) << outcome.text;
  EXPECT_NE(outcome.text.find(" of an object of 34 bytes"), std::string::npos) << outcome.text;
  EXPECT_EQ(count_of(outcome.text, "called"), 0u) << "no stacks: " << outcome.text;
}

TEST(ReportsDeathTest, StacksForWhichThereIsNoRoomAreTold) {
  Outcome outcome = run([] {
    history::begin(true);
    stack_store::limit(0);
    Compiled compiled;
    void* made = __freehold_malloc(35);
    __freehold_free(made);
    __freehold_free(made);
  });
  EXPECT_EQ(count_of(outcome.text, "not recorded: the memory for stacks is full"), 2u) << outcome.text;
  EXPECT_NE(outcome.text.find(" of an object of 35 bytes"), std::string::npos) << outcome.text;
}

TEST(ReportsDeathTest, WithoutAddressSpaceTheSettingIsNamed) {
  EXPECT_DEATH(
      {
        os::fail_map(1);
        history::begin(true);
      },
      "FREEHOLD_DEBUG: no address space");
}

TEST(ReportsDeathTest, AHandlerOfAbortRunsAfterOneReport) {
  Outcome outcome = run([] {
    Compiled compiled;
    void* made = __freehold_malloc(36);
    __freehold_free(made);
    signal(SIGABRT, [](int) { _exit(7); });
    read_from(static_cast<uint8_t*>(made));
  });
  EXPECT_EQ(outcome.status, 7 << 8);
  EXPECT_EQ(count_of(outcome.text, "freehold: "), 1u) << outcome.text;
}

// While a thread waits for who reads its report, a handler in another one forks: the child's report does not wait for that thread, which is not there.
TEST(ReportsDeathTest, TheChildOfAForkDoesNotWaitForAReportOfTheParent) {
  Outcome outcome = run([] {
    Compiled compiled;
    void* made = __freehold_malloc(37);
    __freehold_free(made);
    int read_by_nobody[2], seen = dup(STDERR_FILENO);
    if (pipe(read_by_nobody) != 0 || fcntl(read_by_nobody[1], F_SETFL, O_NONBLOCK) != 0) _exit(90);
    while (write(read_by_nobody[1], "", 1) == 1) {}
    if (fcntl(read_by_nobody[1], F_SETFL, 0) != 0 || dup2(read_by_nobody[1], STDERR_FILENO) < 0) _exit(91);
    std::atomic<pid_t> reporter{0};
    std::thread([made, &reporter] {
      reporter = gettid();
      read_from(static_cast<uint8_t*>(made));
    }).detach();
    // It sleeps nowhere else. The pipe may be full before it is.
    for (std::string state; state != "S"; sched_yield()) {
      if (reporter == 0) continue;
      std::ifstream status("/proc/self/task/" + std::to_string(reporter) + "/stat");
      std::string number, name;
      status >> number >> name >> state;
    }
    Thread& thread = threads::current();
    threads::begin_handler(thread, reinterpret_cast<uintptr_t>(__builtin_frame_address(0)));
    pid_t child = fork();
    threads::end_handler(thread);
    if (child == 0) {
      dup2(seen, STDERR_FILENO);
      alarm(60);
      __freehold_free(made);
    }
    int status = 0;
    waitpid(child, &status, 0);
    _exit(WIFSIGNALED(status) ? WTERMSIG(status) : 92);
  });
  EXPECT_EQ(outcome.status, SIGABRT << 8) << outcome.text;
  EXPECT_NE(outcome.text.find("double free"), std::string::npos) << outcome.text;
}

TEST(StackStore, OneStackHasOneNumber) {
  ASSERT_TRUE(stack_store::initialize());
  uint32_t numbers[3];
  size_t count = std::size(numbers);
  asm("" : "+r"(count));  // not unrolled
  for (size_t i = 0; i < count; i++) numbers[i] = stack_store::remember();
  EXPECT_GT(numbers[0], stack_store::kLost);
  EXPECT_EQ(numbers[0], numbers[1]);
  EXPECT_EQ(numbers[0], numbers[2]);
  uint32_t other = stack_store::remember();
  EXPECT_NE(other, numbers[0]);
  const uintptr_t* addresses;
  EXPECT_GT(stack_store::read(numbers[0], &addresses), 3u);
  EXPECT_EQ(stack_store::read(stack_store::kLost, &addresses), 0u);
}

TEST(StackStore, ThreadsAgree) {
  ASSERT_TRUE(stack_store::initialize());
  uint32_t numbers[4][100];
  std::thread threads[4];
  for (int i = 0; i < 4; i++) {
    threads[i] = std::thread([own = numbers[i]] {
      for (int n = 0; n < 100; n++) own[n] = stack_store::remember();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (auto& own : numbers) {
    for (uint32_t number : own) EXPECT_EQ(number, numbers[0][0]);
  }
}

TEST(Places, AFunctionOfALibraryIsNamed) {
  places::Place place = places::of(reinterpret_cast<uintptr_t>(&getpid) + 1);
  EXPECT_NE(std::string(place.module).find("libc"), std::string::npos);
  ASSERT_NE(place.function, nullptr);
  EXPECT_NE(std::string(place.function).find("getpid"), std::string::npos);
  EXPECT_EQ(place.function_offset, 1u);
  int local;
  EXPECT_STREQ(places::of(reinterpret_cast<uintptr_t>(&local)).module, "");
}

}  // namespace
}  // namespace freehold::bridge::test
