// Robust mutexes in the heap: the kernel finds those of a thread that has died.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kMutexes = 5 };
struct guarded {
  long before;
  pthread_mutex_t mutex;
  long after;
};
static struct guarded* all[kMutexes];

static char* volatile last;
static void churn(void) {
  for (int i = 0; i < 40; i++) {
    last = malloc(200);
    memset(last, i, 200);
    free(last);
  }
}
static void* lock_all(void* unused) {
  for (int i = 0; i < kMutexes; i++) {
    pthread_mutex_lock(&all[i]->mutex);
    churn();
  }
  pthread_mutex_unlock(&all[2]->mutex);
  churn();
  return unused;
}

int main(void) {
  pthread_mutexattr_t* attributes = malloc(sizeof *attributes);
  pthread_mutexattr_init(attributes);
  pthread_mutexattr_setrobust(attributes, PTHREAD_MUTEX_ROBUST);
  for (int i = 0; i < kMutexes; i++) {
    all[i] = calloc(1, sizeof **all);
    printf("%d", pthread_mutex_init(&all[i]->mutex, attributes));
  }
  printf("\n");
  for (int round = 0; round < 3; round++) {
    pthread_t thread;
    pthread_create(&thread, NULL, lock_all, NULL);
    pthread_join(thread, NULL);
    churn();
    for (int i = 0; i < kMutexes; i++) {
      int result = pthread_mutex_lock(&all[i]->mutex);
      printf("%d", result == EOWNERDEAD ? 1 : result == 0 ? 0 : 9);
      if (result == EOWNERDEAD) pthread_mutex_consistent(&all[i]->mutex);
      pthread_mutex_unlock(&all[i]->mutex);
      churn();
    }
    printf("\n");
  }
  for (int i = 0; i < kMutexes; i++) {
    pthread_mutex_destroy(&all[i]->mutex);
    free(all[i]);
  }
  free(attributes);
  return 0;
}
