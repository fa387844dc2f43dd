// The system calls around a fork fail, each in turn: parent and child have their own objects afterwards, or the process ends with a sentence.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mesh_fixture.h"

namespace freehold::mesh::testing {
namespace {

struct ForkFailure {
  const char* failures;
  bool closed;   // the file's descriptor is gone, so the child copies
  bool may_end;  // without it there is no way on: a sentence, and the end
};

class ForkFailureTest : public MeshTest, public ::testing::WithParamInterface<ForkFailure> {
 protected:
  static bool is_intact(const std::vector<uint64_t*>& kept, uint64_t first) {
    for (size_t i = 0; i < kept.size(); i++) {
      for (size_t w = 0; w < 32; w++) {
        if (kept[i][w] != first + i) return false;
      }
    }
    return true;
  }
  static void fill(const std::vector<uint64_t*>& kept, uint64_t first) {
    for (size_t i = 0; i < kept.size(); i++) {
      for (size_t w = 0; w < 32; w++) kept[i][w] = first + i;
    }
  }
};

TEST_P(ForkFailureTest, BothHaveTheirOwn) {
  std::vector<uint64_t*> kept = sparse(256, 12'000, 20);
  compact();
  if (GetParam().closed) close(heap.arena.file());
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  ASSERT_TRUE(os::inject_failures(GetParam().failures));
  before_fork();
  pid_t child = fork();
  if (child == 0) {
    alarm(120);
    after_fork_in_child();
    os::inject_failures("");
    char byte;
    bool good = read(ready[0], &byte, 1) == 1 && is_intact(kept, 1);
    fill(kept, 7'000'000);
    std::vector<uint64_t*> own = sparse(512, 4000, 20, 50);
    compact();
    for (size_t i = 0; i < own.size(); i++) good = good && own[i][0] == 50 + i;
    free_all(own);
    _exit(good && is_intact(kept, 7'000'000) && verify() == nullptr ? 0 : 1);
  }
  after_fork_in_parent();
  os::inject_failures("");
  ASSERT_GT(child, 0);
  fill(kept, 5'000'000);
  ASSERT_EQ(write(ready[1], "x", 1), 1);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(status == 0 || (GetParam().may_end && WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT)) << "status " << status;
  expect_intact(kept, 256, 5'000'000);
  free_all(kept);
  close(ready[0]);
  close(ready[1]);
}

INSTANTIATE_TEST_SUITE_P(
    Calls, ForkFailureTest,
    ::testing::Values(
        // Is the descriptor still that of the file? In the parent, and in the child.
        ForkFailure{"fstat:1", false, false}, ForkFailure{"fstat:2", false, false}, ForkFailure{"fstat:3", false, false}, ForkFailure{"fstat:1+", false, false},
        // The spans become copies on write.
        ForkFailure{"mmap:1", false, false}, ForkFailure{"mmap:2", false, false}, ForkFailure{"mmap:5", false, false}, ForkFailure{"mmap:40", false, true},
        // The child's file and barrier.
        ForkFailure{"memfd:1", false, false}, ForkFailure{"ftruncate:1", false, false}, ForkFailure{"fcntl:1+", false, false},
        ForkFailure{"prlimit:1+", false, false}, ForkFailure{"readlink:1", false, false}, ForkFailure{"userfaultfd:1", false, false},
        ForkFailure{"userfaultfd:1+", false, false}, ForkFailure{"handshake:1+", false, false}, ForkFailure{"membarrier:1+", false, false},
        ForkFailure{"madvise:1+", false, false},
        // The child copies: the parent waits at a pipe, or looks at a page.
        ForkFailure{"piperead:1", true, false}, ForkFailure{"piperead:2", true, false}, ForkFailure{"pipewrite:1", true, false},
        ForkFailure{"pipe:1", true, false}, ForkFailure{"mmap:2", true, true}, ForkFailure{"mmap:3", true, true}, ForkFailure{"munmap:1+", true, false}),
    [](const auto& info) {
      std::string name = info.param.failures;
      for (char& c : name) c = isalnum(static_cast<unsigned char>(c)) != 0 ? c : c == '+' ? 'x' : '_';
      return name + (info.param.closed ? "_closed" : "");
    });

using ForkFailureDeathTest = MeshTest;

TEST_F(ForkFailureDeathTest, WithoutPipeAndPage) {
  EXPECT_DEATH(
      {
        std::vector<uint64_t*> kept = sparse(256, 12'000, 20);
        compact();
        os::inject_failures("fstat:1+,pipe:1+,mmap:1+");
        before_fork();
      },
      "fork: no memory to give the child spans of its own");
}

}  // namespace
}  // namespace freehold::mesh::testing
