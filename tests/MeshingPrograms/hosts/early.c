// A library whose constructor registers handlers of fork, perhaps before anything is allocated. They allocate.
#include <pthread.h>
#include <stdlib.h>

static void work(void) {
  static void* kept[20000];
  for (int i = 0; i < 20000; i++) kept[i] = malloc(100);
  for (int i = 0; i < 20000; i++) free(kept[i]);
}

__attribute__((constructor)) static void start(void) { pthread_atfork(work, work, work); }
int early(void) { return 1; }
