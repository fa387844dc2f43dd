// Who has missed an interval between two stops, and so goes on before the next one.
#include "runtime/threads_may_run.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

namespace freehold::runtime {
namespace {

class StandingThreadsTest : public ::testing::Test {
 protected:
  ~StandingThreadsTest() override { threads_may_run.set(); }

  void stop() {
    standing_.begin_stop();
    threads_may_run.reset();
  }

  // Until the thread is counted.
  std::thread stand() {
    std::thread thread([this] {
      standing_.wait();
      through_++;
    });
    while (!standing_.stands()) std::this_thread::yield();
    return thread;
  }

  StandingThreads standing_;
  std::atomic<int> through_{0};
};

TEST_F(StandingThreadsTest, AreMissedFromTheSecondStopOn) {
  stop();
  std::thread thread = stand();
  EXPECT_FALSE(standing_.missed_interval()) << "it may still wake up in the first interval";
  for (int more = 0; more < 2; more++) {
    standing_.begin_stop();  // it has not been awake in between
    EXPECT_TRUE(standing_.missed_interval()) << more;
  }
  EXPECT_EQ(through_.load(), 0);
  threads_may_run.set();
  thread.join();
  EXPECT_FALSE(standing_.missed_interval()) << "it has gone on";
  EXPECT_EQ(through_.load(), 1);
}

TEST_F(StandingThreadsTest, AreForgotten) {
  stop();
  std::thread thread = stand();
  standing_.begin_stop();
  EXPECT_TRUE(standing_.missed_interval());
  StandingThreads others;
  others.begin_stop();
  others.forget();
  EXPECT_FALSE(others.missed_interval());
  EXPECT_FALSE(others.stands());
  threads_may_run.set();
  thread.join();
}

TEST_F(StandingThreadsTest, AreNotMissedInTheChildOfAFork) {
  stop();
  std::thread thread = stand();
  standing_.begin_stop();
  pid_t child = fork();
  if (child == 0) {
    bool before = standing_.missed_interval();
    standing_.forget();
    _exit(before && !standing_.missed_interval() ? 0 : 1);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  threads_may_run.set();
  thread.join();
}

}  // namespace
}  // namespace freehold::runtime
