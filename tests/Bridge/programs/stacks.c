// Stacks in the heap: of handlers, and of contexts.
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

static char* low;
static volatile int on_it, deep;
static int use(int n) {
  volatile char some[200];
  memset((char*)some, n, sizeof some);
  return n == 0 ? 0 : use(n - 1) + some[7];
}
static void handle(int number) {
  char* text = strdup("a text of the handler");
  stack_t now;
  sigaltstack(NULL, &now);
  on_it += (now.ss_flags & SS_ONSTACK) != 0 && now.ss_sp == low && strlen(text) == 21 && number != 0;
  deep = use(40);
  free(text);
}
static sigjmp_buf out;
static void leave(int number) { siglongjmp(out, number); }

static void on_a_handlers_stack(void) {
  stack_t *wanted = calloc(1, sizeof *wanted), *before = calloc(1, sizeof *before);
  wanted->ss_size = 65536;
  wanted->ss_sp = low = malloc(wanted->ss_size);
  printf("%d\n", sigaltstack(wanted, NULL));
  struct sigaction action = {.sa_handler = handle, .sa_flags = SA_ONSTACK};
  sigaction(SIGUSR1, &action, NULL);
  for (int i = 0; i < 20; i++) raise(SIGUSR1);
  printf("%d %d\n", on_it, deep);
  action.sa_handler = leave;
  sigaction(SIGUSR1, &action, NULL);
  for (volatile int i = 0; i < 5; i++) {
    int came = sigsetjmp(out, 1);
    if (came == 0) raise(SIGUSR1);
    printf("%d ", came == SIGUSR1);
  }
  // The name that it was given by.
  stack_t* now = calloc(1, sizeof *now);
  printf("%d %d\n", sigaltstack(NULL, now), now->ss_sp == wanted->ss_sp && now->ss_size == wanted->ss_size);
  wanted->ss_flags = SS_DISABLE;
  printf("%d %d\n", sigaltstack(wanted, before), before->ss_sp == low);
  free(low);
  wanted->ss_flags = 1 << 20;
  printf("%d\n", sigaltstack(wanted, NULL));
  free(wanted);
  free(before);
  free(now);
}

typedef struct {
  ucontext_t self, back;
  char* stack;
  char* text;
  int sum, number;
} Routine;
static void run(int high, int lowest) {
  Routine* routine = (Routine*)((unsigned long)(unsigned)high << 32 | (unsigned)lowest);
  for (int i = 0; i < 4; i++) {
    char* copy = strdup(routine->text);
    routine->sum += (int)strlen(copy) + use(i) + routine->number;
    free(copy);
    swapcontext(&routine->self, &routine->back);
  }
}
static void on_stacks_of_contexts(void) {
  enum { kCount = 5 };
  Routine* all[kCount];
  for (int i = 0; i < kCount; i++) {
    Routine* routine = all[i] = calloc(1, sizeof *routine);
    routine->stack = malloc(65536);
    routine->text = strdup("some text");
    routine->number = i;
    getcontext(&routine->self);
    routine->self.uc_stack.ss_sp = routine->stack;
    routine->self.uc_stack.ss_size = 65536;
    routine->self.uc_link = &routine->back;
    unsigned long word = (unsigned long)routine;
    makecontext(&routine->self, (void (*)(void))run, 2, (int)(word >> 32), (int)word);
  }
  for (int round = 0; round < 5; round++) {
    for (int i = 0; i < kCount; i++) {
      swapcontext(&all[i]->back, &all[i]->self);
      printf("%d ", all[i]->sum);
    }
  }
  printf("%d\n", all[1]->self.uc_link == &all[1]->back && all[2]->self.uc_stack.ss_sp == all[2]->stack);
  for (int i = 0; i < kCount; i++) {
    free(i % 2 == 0 ? all[i]->stack : (char*)all[i]->self.uc_stack.ss_sp);
    free(all[i]->text);
    free(all[i]);
  }
}

int main(void) {
  on_a_handlers_stack();
  on_stacks_of_contexts();
  return 0;
}
