// Contexts in the heap whose memory was used before; objects move between getcontext and makecontext.
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

struct routine {
  ucontext_t self, back;
  int sum;
  char stack[65536];
};
static struct routine* current;
static void run(void) {
  for (int i = 0; i < 3; i++) {
    current->sum += i + 1;
    swapcontext(&current->self, &current->back);
  }
}

int main(void) {
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, SIGUSR1);
  sigprocmask(SIG_BLOCK, &one, NULL);
  for (int n = 0; n < 5; n++) {
    struct routine* routine = malloc(sizeof *routine);
    memset(routine, 0xff, sizeof *routine);
    printf("%d", getcontext(&routine->self));
    for (int i = 0; i < 20; i++) {
      free(malloc(sizeof *routine + (size_t)i));
      usleep(0);
    }
    printf(" %d %d", sigismember(&routine->self.uc_sigmask, SIGUSR1), sigismember(&routine->self.uc_sigmask, SIGUSR2));
    routine->sum = 0;
    routine->self.uc_stack.ss_sp = routine->stack;
    routine->self.uc_stack.ss_size = sizeof routine->stack;
    routine->self.uc_link = &routine->back;
    makecontext(&routine->self, run, 0);
    current = routine;
    for (int i = 0; i < 4; i++) {
      printf(" %d", swapcontext(&routine->back, &routine->self));
      free(malloc(100));
      printf(" %d", routine->sum);
    }
    printf("\n");
    free(routine);
  }
  // It returns a second time.
  ucontext_t* again = malloc(sizeof *again);
  memset(again, 0xff, sizeof *again);
  volatile int rounds = 0;
  int result = getcontext(again);
  rounds++;
  free(malloc(1000));
  if (rounds < 5) setcontext(again);
  printf("%d %d\n", result, rounds);
  free(again);
  return 0;
}
