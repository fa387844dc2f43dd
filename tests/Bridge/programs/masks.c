// Signals that are blocked: handles that uncompiled code finds in memory still work, and the program sees the masks that it has set.
#define _GNU_SOURCE
#include <pthread.h>
#include <search.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

// The C library finds handles in memory: the strings of lists and tables.
static int walked;
static void count(const void* node, VISIT visit, int depth) {
  (void)depth;
  if (visit == postorder || visit == leaf) walked += (int)strlen(*(char* const*)node);
}
static int compare(const void* a, const void* b) { return strcmp(a, b); }
static int escapes(void) {
  int sum = 0;
  char** arguments = malloc(4 * sizeof *arguments);
  arguments[0] = strdup("name");
  arguments[1] = strdup("-ab");
  arguments[2] = strdup("-c");
  arguments[3] = NULL;
  optind = 0;
  for (int option; (option = getopt(3, arguments, "abc")) != -1;) sum += option;
  void* root = NULL;
  for (int i = 0; i < 3; i++) tsearch(arguments[i], &root, compare);
  walked = 0;
  twalk(root, count);
  sum += walked;
  for (int i = 0; i < 3; i++) tdelete(arguments[i], &root, compare);
  for (int i = 0; i < 3; i++) free(arguments[i]);
  free(arguments);
  return sum;
}

// A new thread does not inherit that the signals of faults are blocked (docs/limits.md).
static int is_fault(int signal) { return signal == SIGSEGV || signal == SIGBUS || signal == SIGTRAP; }
static int inherits;
static int blocked(const sigset_t* set) {
  int n = 0;
  for (int i = 1; i < 32; i++) n += sigismember(set, i) == 1 && !(inherits && is_fault(i));
  return n;
}
static void* with_all_blocked(void* unused) {
  (void)unused;
  sigset_t* all = malloc(sizeof *all);
  sigset_t* before = malloc(sizeof *before);
  sigset_t* now = malloc(sizeof *now);
  sigfillset(all);
  printf("%d", pthread_sigmask(SIG_SETMASK, all, before));
  printf(" %d %d", blocked(before), escapes());
  pthread_sigmask(SIG_BLOCK, NULL, now);
  // SIGKILL and SIGSTOP cannot be.
  printf(" %d %d %d\n", blocked(now), sigismember(now, SIGSEGV), sigismember(now, SIGTRAP));
  sigemptyset(all);
  sigaddset(all, SIGSEGV);
  sigaddset(all, SIGUSR1);
  sigprocmask(SIG_UNBLOCK, all, NULL);
  sigprocmask(SIG_SETMASK, NULL, now);
  printf("%d %d %d\n", blocked(now), sigismember(now, SIGSEGV), sigismember(now, SIGBUS));
  printf("%d", sigprocmask(77, all, NULL));
  sigprocmask(SIG_SETMASK, before, now);
  printf(" %d", blocked(now));
  pthread_sigmask(SIG_SETMASK, NULL, now);
  printf(" %d\n", blocked(now));
  sigprocmask(SIG_BLOCK, all, NULL);
  pthread_sigmask(SIG_SETMASK, NULL, now);
  printf("%d %d\n", blocked(now), escapes());
  pthread_sigmask(SIG_SETMASK, before, NULL);
  free(all);
  free(before);
  free(now);
  return NULL;
}

static volatile int in_handler, seen;
static void handle(int signal) {
  (void)signal;
  in_handler = escapes();
  sigset_t now;
  sigprocmask(SIG_BLOCK, NULL, &now);
  seen = blocked(&now);
}

int main(void) {
  printf("%d\n", escapes());
  with_all_blocked(NULL);
  pthread_t thread;
  pthread_create(&thread, NULL, with_all_blocked, NULL);
  pthread_join(thread, NULL);
  // A thread that begins with all of them blocked.
  sigset_t all, before, now;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);
  inherits = 1;
  pthread_create(&thread, NULL, with_all_blocked, NULL);
  pthread_join(thread, NULL);
  inherits = 0;
  sigprocmask(SIG_SETMASK, &before, NULL);

  struct sigaction* action = calloc(1, sizeof *action);
  action->sa_handler = handle;
  sigfillset(&action->sa_mask);
  sigaction(SIGUSR1, action, NULL);
  raise(SIGUSR1);
  printf("handler %d %d\n", in_handler, seen);
  pthread_sigmask(SIG_BLOCK, NULL, &now);
  printf("%d\n", blocked(&now));
  // sigsuspend: the handler runs with the mask that was waited with, and its own.
  in_handler = 0;
  sigemptyset(&action->sa_mask);
  sigaction(SIGUSR1, action, NULL);
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, SIGUSR1);
  sigprocmask(SIG_BLOCK, &one, NULL);
  raise(SIGUSR1);
  sigdelset(&all, SIGUSR1);
  sigsuspend(&all);
  printf("suspended %d %d\n", in_handler, seen);
  sigprocmask(SIG_BLOCK, NULL, &now);
  printf("%d\n", blocked(&now));
  return 0;
}
