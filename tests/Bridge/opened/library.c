#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static pthread_key_t key;
static int destroyed;
static void destroy(void* value) {
  destroyed += strlen(value) == 5;
  free(value);
}
__attribute__((constructor)) static void start(void) { pthread_key_create(&key, destroy); }

static jmp_buf back;
// clang leaves out stores in front of a longjmp to memory that only this function knows.
static char** volatile known;
__attribute__((noinline)) static void deep(char** all, int depth) {
  all[depth] = malloc(50);
  memset(all[depth], depth, 50);
  if (depth == 20) longjmp(back, 7);
  deep(all, depth + 1);
}
static volatile sig_atomic_t handled;
static void handle(int number) { handled += number == SIGUSR1; }

// 1000 rounds of everything; returns what is right of it.
int opened_work(void (*between)(void)) {
  int right = 0;
  pthread_setspecific(key, strdup("value"));
  signal(SIGUSR1, handle);
  for (int round = 0; round < 50; round++) {
    char** all = malloc(21 * sizeof *all);
    known = all;
    int jumped = setjmp(back);
    if (jumped == 0) deep(all, 0);
    between();
    for (int i = 0; i <= 20; i++) {
      right += all[i][49] == i;
      free(all[i]);
    }
    right += jumped == 7;
    free(all);
  }
  return right;
}
int opened_destroyed(void) { return destroyed; }
