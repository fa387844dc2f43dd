// fork, from everywhere: also from a handler of a signal that has interrupted compiled code, which holds addresses.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "compiled.h"
#include "os.h"
#include "owned_lock.h"
#include "services.h"

namespace freehold::bridge::test {
namespace {

int status_of(pid_t child) {
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

// A handler between its begin and its end, while another thread wants to move everything.
TEST(Forks, NothingMovesUnderTheCodeThatAHandlerHasInterrupted) {
  Compiled compiled;
  Thread& thread = threads::current();
  void* made = __freehold_malloc(100);
  std::atomic<bool> ends{false};
  std::thread mover([&] {
    while (!ends.load()) defragmenter.move_everything();
  });
  for (int i = 0; i < 20; i++) {
    uint8_t* address = at(made);
    threads::begin_handler(thread, reinterpret_cast<uintptr_t>(__builtin_frame_address(0)));
    while (!threads::is_asked_to_stop(thread)) os::pause(100);
    pid_t child = fork();
    if (child == 0) {
      alarm(60);
      bool stayed = at(made) == address;
      threads::end_handler(thread);
      // The stop that another thread had asked for is not the child's.
      for (int n = 0; n < 1000; n++) __freehold_free(__freehold_malloc(static_cast<size_t>(n)));
      move_everything();
      bool moved = at(made) != address;
      std::thread([] { Compiled inside; }).join();
      _exit(stayed && moved ? 0 : 1);
    }
    EXPECT_EQ(status_of(child), 0);
    EXPECT_EQ(at(made), address);
    threads::end_handler(thread);
    poll();
  }
  ends = true;
  while (threads::is_asked_to_stop(thread)) poll();
  {
    OneRecord record;
    __freehold_call_out(&record);
    mover.join();
    __freehold_call_back(&record);
  }
  __freehold_free(made);
}

// The interrupted code is in the middle of an allocation: it goes on in both processes.
TEST(Forks, AHandlerMayForkWhileTheInterruptedCodeHasALock) {
  Compiled compiled;
  Thread& thread = threads::current();
  for (int which = 0; which < 2; which++) {
    auto lock = [&] { return which == 0 ? heap.lock_unless_mine() : table.lock_unless_mine(); };
    auto unlock = [&] { which == 0 ? heap.unlock() : table.unlock(); };
    ASSERT_TRUE(lock());
    EXPECT_FALSE(lock()) << "it is this thread's";
    threads::begin_handler(thread, reinterpret_cast<uintptr_t>(__builtin_frame_address(0)));
    pid_t child = fork();
    threads::end_handler(thread);
    if (child == 0) alarm(60);
    unlock();
    for (int n = 0; n < 1000; n++) __freehold_free(__freehold_malloc(static_cast<size_t>(n)));
    if (child == 0) _exit(heap.verify() == nullptr ? 0 : 1);
    EXPECT_EQ(status_of(child), 0) << which;
  }
}

// Another thread is in the service while a handler forks: nobody is stopped, and that thread is none of the child's.
TEST(ForksDeathTest, ALockOfTheServiceIsFreeInTheChildOfAHandlersFork) {
  EXPECT_EXIT(
      {
        alarm(300);
        static freehold_lock lock;
        if (freehold_service_add_lock(&lock) == 0) _exit(1);
        Compiled compiled;
        Thread& thread = threads::current();
        std::atomic<bool> ends{false};
        std::thread other([&] {
          while (!ends.load()) {
            freehold_service_lock(&lock);
            os::pause(200);
            freehold_service_unlock(&lock);
          }
        });
        bool right = true;
        for (int i = 0; i < 50; i++) {
          threads::begin_handler(thread, reinterpret_cast<uintptr_t>(__builtin_frame_address(0)));
          // With every second one, the interrupted code has the lock itself.
          if (i % 2 != 0) freehold_service_lock(&lock);
          pid_t child = fork();
          if (child == 0) {
            alarm(60);
            if (i % 2 != 0) freehold_service_unlock(&lock);
            freehold_service_lock(&lock);
            freehold_service_unlock(&lock);
            _exit(0);
          }
          if (i % 2 != 0) freehold_service_unlock(&lock);
          threads::end_handler(thread);
          right &= status_of(child) == 0;
        }
        ends = true;
        other.join();
        _exit(right ? 0 : 2);
      },
      testing::ExitedWithCode(0), "^$");
}

// The service that never moves an object has such a lock.
TEST(ForksDeathTest, TheChildOfAHandlersForkAllocatesFromThePlainService) {
  EXPECT_EXIT(
      {
        alarm(300);
        choose_service(ServiceChoice::kPlain);
        Compiled compiled;
        Thread& thread = threads::current();
        std::atomic<bool> ends{false};
        std::thread other([&] {
          Compiled inside;
          while (!ends.load()) __freehold_free(__freehold_malloc(100));
        });
        bool right = true;
        for (int i = 0; i < 200; i++) {
          threads::begin_handler(thread, reinterpret_cast<uintptr_t>(__builtin_frame_address(0)));
          pid_t child = fork();
          threads::end_handler(thread);
          if (child == 0) {
            alarm(60);
            for (int n = 0; n < 10; n++) __freehold_free(__freehold_malloc(100));
            _exit(0);
          }
          right &= status_of(child) == 0;
        }
        ends = true;
        other.join();
        _exit(right ? 0 : 2);
      },
      testing::ExitedWithCode(0), "^$");
}

TEST(OwnedLock, IsOneAtATime) {
  OwnedLock lock;
  int counter = 0;
  std::thread all[4];
  for (auto& one : all) {
    one = std::thread([&] {
      for (int i = 0; i < 20000; i++) {
        OwnedLockGuard guard(lock);
        counter = counter + 1;
      }
    });
  }
  for (auto& one : all) one.join();
  EXPECT_EQ(counter, 80000);
  ASSERT_TRUE(lock.try_lock());
  EXPECT_FALSE(lock.try_lock());
  std::thread([&] { EXPECT_FALSE(lock.try_lock()); }).join();
  lock.unlock();
}

}  // namespace
}  // namespace freehold::bridge::test
