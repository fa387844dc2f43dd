// What the first argument says happens in a handler that interrupts the recorder of heap profiles, which has its lock then. "fork" without a handler: in the program.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern int allocator_interrupts;
static const char* what;

__attribute__((noinline)) void* make(size_t size) { return malloc(size); }

static int forked(int allocates) {
  pid_t child = fork();
  if (child == 0) {
    alarm(60);
    if (allocates) {
      for (int i = 0; i < 50; i++) free(make(16));
      exit(0);
    }
    _exit(0);
  }
  int code = -1;
  waitpid(child, &code, 0);
  return code;
}
static void handler(int signal) {
  (void)signal;
  if (strcmp(what, "exit") == 0) exit(0);
  if (strcmp(what, "forks") == 0 && forked(0) != 0) _exit(3);
  if (strcmp(what, "forks-and-goes-on") == 0 && forked(1) != 0) _exit(3);
  if (strcmp(what, "allocates") == 0) free(make(40));
}
static void* in_thread(void* unused) {
  free(make(24));
  return unused;
}

int main(int count, char** arguments) {
  what = count == 2 ? arguments[1] : "";
  alarm(60);
  signal(SIGUSR1, handler);
  void* kept[100];
  for (int i = 0; i < 100; i++) *(volatile char*)(kept[i] = make(32)) = 1;
  if (strcmp(what, "fork") == 0) {
    if (forked(1) != 0) return 3;
  } else {
    allocator_interrupts = 1;
  }
  kept[0] = realloc(kept[0], 500);
  // The lock is free again, for others too.
  pthread_t thread;
  pthread_create(&thread, NULL, in_thread, NULL);
  pthread_join(thread, NULL);
  for (int i = 0; i < 100; i++) free(kept[i]);
  return 0;
}
