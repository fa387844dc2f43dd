// Signals that interrupt loops over objects; their handlers allocate nothing, but run loops, call the library, and jump out.
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static volatile sig_atomic_t ticks;
static int* shared;
static sigjmp_buf out;
static void tick(int signal) {
  // A loop with polls, and calls of code that knows no handles.
  int total = 0;
  for (int i = 0; i < 200; i++) total += shared[i];
  if (total != 19900) {
    const char text[] = "wrong\n";
    if (write(1, text, sizeof text - 1) < 0) _exit(3);
  }
  ticks = ticks + (access("/", F_OK) == 0) + (signal != SIGALRM);
}
// What signal() is in strict ISO C: glibc has it under this name.
void (*__sysv_signal(int, void (*)(int)))(int);
static int strict;
static void once(int signal) { strict += signal == SIGSEGV || signal == SIGBUS || signal == SIGUSR1; }
static void jump(int signal, siginfo_t* information, void* context) {
  (void)signal;
  (void)information;
  (void)context;
  siglongjmp(out, 7);
}

int main(void) {
  shared = malloc(200 * sizeof *shared);
  for (int i = 0; i < 200; i++) shared[i] = i;
  struct sigaction* action = calloc(1, sizeof *action);
  action->sa_handler = tick;
  action->sa_flags = SA_RESTART;
  sigaction(SIGALRM, action, NULL);
  struct itimerval* timer = calloc(1, sizeof *timer);
  timer->it_interval.tv_usec = timer->it_value.tv_usec = 2000;
  setitimer(ITIMER_REAL, timer, NULL);
  unsigned* a = malloc(4000 * sizeof *a);
  unsigned* b = malloc(4000 * sizeof *b);
  for (int i = 0; i < 4000; i++) {
    a[i] = (unsigned)i;
    b[i] = 0;
  }
  long rounds = 0;
  // The first round is run whatever the clock says: on a busy machine a hundred ticks can pass before it.
  do {
    for (int i = 0; i < 4000; i++) b[i] = b[i] * 3 + a[4000 - 1 - i];
    char* text = malloc(100);
    strcpy(text, "round");
    rounds += (long)strlen(text);
    free(text);
    if (ticks == 50) {
      unsigned* c = malloc(4000 * sizeof *c);
      memcpy(c, b, 4000 * sizeof *c);
      free(b);
      b = c;
    }
  } while (ticks < 100);
  memset(timer, 0, sizeof *timer);
  setitimer(ITIMER_REAL, timer, NULL);
  // Every element has had the same number of rounds: neighbours differ by the same.
  unsigned step = b[1] - b[0];
  int same = 1;
  for (int i = 2; i < 4000; i++) same &= b[i] - b[i - 1] == step;
  printf("%d %d\n", same, rounds > 0);
  struct sigaction* before = malloc(sizeof *before);
  sigaction(SIGALRM, NULL, before);
  printf("%d\n", before->sa_handler == tick);
  printf("%d\n", signal(SIGUSR1, tick) == SIG_DFL && signal(SIGUSR1, SIG_IGN) == tick);
  for (int i = 0; i < 3; i++) {
    int number = i == 0 ? SIGSEGV : i == 1 ? SIGBUS : SIGUSR1;
    __sysv_signal(number, once);
    raise(number);
    printf("%d %d\n", strict, signal(number, SIG_DFL) == SIG_DFL);
  }
  action->sa_sigaction = jump;
  action->sa_flags = SA_SIGINFO;
  sigaction(SIGUSR2, action, NULL);
  int came = sigsetjmp(out, 1);
  if (came < 7) {
    raise(SIGUSR2);
    puts("never");
  }
  printf("%d %d\n", came, shared[3]);
  for (int i = 0; i < 3000; i++) a[i % 4000] += b[i];
  free(malloc(10));
  return 0;
}
