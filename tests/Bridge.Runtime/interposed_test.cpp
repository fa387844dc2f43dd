// Functions of the C library that the runtime stands in front of, called by code that was not compiled with handles.
#include <errno.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <iterator>

#include "compiled.h"

namespace freehold::bridge::test {
namespace {

// The table and the heap are reserved, not used: to make them present would take all memory. A filter answers such a call.
TEST(Interposed, MlockallLocksWhatIsTouched) {
  pid_t child = fork();
  if (child == 0) {
    // Nothing is locked, whatever is allowed to this process.
    sock_filter code[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                          BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mlockall, 0, 4),
                          BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args)),
                          BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, MCL_ONFAULT, 1, 0),
                          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EXDEV),
                          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EDOM),
                          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    sock_fprog program = {static_cast<unsigned short>(std::size(code)), code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) _exit(1);
    mlockall(MCL_CURRENT | MCL_FUTURE);
    _exit(errno == EDOM ? 0 : 2);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

// What the process has locked before, all that it maps later too, does not make a reservation present.
TEST(Interposed, ReservationsTakeNoMemoryWhereAllIsLocked) {
  constexpr size_t kSize = size_t{64} << 20;
  constexpr uintptr_t kPlace = uintptr_t{3} << 40;
  pid_t child = fork();
  if (child == 0) {
    if (syscall(SYS_mlockall, MCL_FUTURE) != 0) _exit(77);
    void* all[] = {os::map(kSize), os::map(kSize, kPlace), reinterpret_cast<void*>(os::map_zeroes(kSize, kPlace + kSize) ? kPlace + kSize : 0)};
    for (void* start : all) {
      static unsigned char is_present[kSize / os::kPageSize];
      if (start == nullptr || mincore(start, kSize, is_present) != 0) _exit(1);
      for (unsigned char one : is_present) {
        if ((one & 1) != 0) _exit(2);
      }
    }
    memset(all[0], 1, kSize / 2);
    _exit(*static_cast<char*>(all[2]));
  }
  int status = -1;
  waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77) GTEST_SKIP() << "the system does not allow mlockall";
  EXPECT_EQ(status, 0);
}

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
  EXPECT_TRUE(table.is_freed(reinterpret_cast<uint64_t>(first)));
  EXPECT_TRUE(table.is_freed(reinterpret_cast<uint64_t>(second)));
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
