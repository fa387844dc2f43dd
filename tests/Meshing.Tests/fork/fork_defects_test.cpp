// Classes of defects of forks that a hostile reading has found, as far as they show without being the process's malloc; the others are tests/MeshingPrograms/defects.cpp.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "mesh_fixture.h"

namespace freehold::mesh::testing {
namespace {

class ForkDefects : public MeshTest {};

// The spans cannot be made copies on write, and the fork fails too: the parent waits for no child. It waited five seconds, with all locks.
TEST_F(ForkDefects, AForkThatFailsIsNotWaitedFor) {
  std::vector<uint64_t*> kept = sparse(128, 4000, 16);
  constexpr int kForks = 60;
  uint64_t begin = os::nanoseconds();
  for (int i = 0; i < kForks; i++) {
    os::inject_failures("mmap:1+");
    before_fork();
    os::inject_failures("");
    after_fork_in_parent();
  }
  // A tenth of what it was.
  EXPECT_LT(os::nanoseconds() - begin, kForks * uint64_t{500'000'000});
  expect_intact(kept, 128);
  free_all(kept);
}

// The same with a child that dies before it has copied.
TEST_F(ForkDefects, AChildThatDiesIsNotWaitedFor) {
  constexpr int kForks = 20;
  std::vector<uint64_t*> kept = sparse(128, 4000, 16);
  uint64_t begin = os::nanoseconds();
  for (int i = 0; i < kForks; i++) {
    os::inject_failures("mmap:1+");
    before_fork();
    os::inject_failures("");
    pid_t child = fork();
    if (child == 0) _exit(3);
    after_fork_in_parent();
    int status;
    ASSERT_EQ(waitpid(child, &status, 0), child);
  }
  EXPECT_LT(os::nanoseconds() - begin, kForks * uint64_t{2'500'000'000});
  free_all(kept);
}

// _Fork in a handler that has interrupted malloc: its locks are taken, and stay so.
TEST_F(ForkDefects, ABareForkDoesNotWaitForLocksForEver) {
  heap.global.lock_of(3).lock();
  EXPECT_FALSE(try_before_fork());
  heap.global.lock_of(3).unlock();
  ASSERT_TRUE(try_before_fork());
  after_fork_in_parent(false);
  std::vector<uint64_t*> kept = sparse(128, 4000, 16);
  expect_intact(kept, 128);
  free_all(kept);
}

// A daemon has closed our descriptor and opened a file of its own, which has the number now.
TEST_F(ForkDefects, TheDescriptorOfSomebodyElseStaysOpen) {
  int ours = heap.barrier.descriptor();
  if (ours < 0) GTEST_SKIP() << "no userfaultfd here";
  int file = open("/dev/null", O_RDONLY);
  ASSERT_EQ(dup2(file, ours), ours);
  heap.barrier.reopen();
  EXPECT_NE(fcntl(ours, F_GETFD), -1) << "it was closed";
  close(ours);
  close(file);
}

}  // namespace
}  // namespace freehold::mesh::testing
