// A program without handles opens a library that has them, and then locks its memory. A filter of system calls answers: EDOM if the call says that what is only reserved shall not
// be made present, EXDEV if it does not.
#include <dlfcn.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

static int filter(void) {
  struct sock_filter code[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                               BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mlockall, 0, 4),
                               BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
                               BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, MCL_ONFAULT, 1, 0),
                               BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EXDEV),
                               BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EDOM),
                               BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  struct sock_fprog program = {sizeof code / sizeof *code, code};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

// A program at a fixed address has a stub for a function whose address it takes.
static void (*volatile let_go)(void*) = free;

int main(int count, char** arguments) {
  void* library = count == 2 ? dlopen(arguments[1], RTLD_NOW) : NULL;
  long (*sum)(int) = library != NULL ? (long (*)(int))dlsym(library, "sum_of_list") : NULL;
  if (sum == NULL) {
    puts(dlerror());
    return 1;
  }
  if (!filter()) return 2;
  let_go(malloc(100));
  printf("%ld\n", sum(1000));
  int result = mlockall(MCL_CURRENT | MCL_FUTURE);
  puts(result == -1 && errno == EDOM ? "as it is touched" : "all at once");
  printf("%ld\n", sum(2000));
  return 0;
}
