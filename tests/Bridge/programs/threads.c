// Threads that allocate, share, wait and end.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct message {
  struct message* next;
  int value;
  char text[40];
};
struct queue {
  pthread_mutex_t lock;
  pthread_cond_t ready;
  struct message *first, *last;
  int closed;
};
static struct queue* queue;
static _Atomic long* total;
static pthread_key_t key;
static _Atomic int destroyed;

static void destroy(void* value) {
  atomic_fetch_add(&destroyed, *(int*)value);
  free(value);
}
static void put(struct message* m) {
  pthread_mutex_lock(&queue->lock);
  m->next = NULL;
  if (queue->last != NULL) queue->last->next = m;
  else queue->first = m;
  queue->last = m;
  pthread_cond_signal(&queue->ready);
  pthread_mutex_unlock(&queue->lock);
}
static void* consumer(void* argument) {
  int* mine = malloc(sizeof *mine);
  *mine = 1;
  pthread_setspecific(key, mine);
  long* sum = calloc(1, sizeof *sum);
  while (1) {
    pthread_mutex_lock(&queue->lock);
    while (queue->first == NULL && !queue->closed) pthread_cond_wait(&queue->ready, &queue->lock);
    struct message* m = queue->first;
    if (m != NULL && (queue->first = m->next) == NULL) queue->last = NULL;
    pthread_mutex_unlock(&queue->lock);
    if (m == NULL) break;
    *sum += m->value + (long)strlen(m->text);
    free(m);
  }
  atomic_fetch_add(total, *sum);
  if (pthread_getspecific(key) != mine) printf("wrong key\n");
  printf("%s", (char*)argument);
  return sum;
}
static void* producer(void* argument) {
  int from = *(int*)argument;
  for (int i = 0; i < 2000; i++) {
    struct message* m = malloc(sizeof *m);
    m->value = from + i;
    sprintf(m->text, "%d", i);
    put(m);
  }
  free(argument);
  return NULL;
}
// Each has its own array, and works on it without a call.
static void* worker(void* argument) {
  unsigned* a = argument;
  for (int round = 0; round < 300; round++)
    for (int i = 1; i < 1000; i++) a[i] = a[i] * 5 + a[i - 1] + (unsigned)round;
  return a;
}

int main(void) {
  queue = calloc(1, sizeof *queue);
  pthread_mutex_init(&queue->lock, NULL);
  pthread_cond_init(&queue->ready, NULL);
  pthread_key_create(&key, destroy);
  total = calloc(1, sizeof *total);
  pthread_t* threads = malloc(9 * sizeof *threads);
  char* name = strdup("done\n");
  for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, consumer, name);
  for (int i = 3; i < 6; i++) {
    int* from = malloc(sizeof *from);
    *from = i * 1000;
    pthread_create(&threads[i], NULL, producer, from);
  }
  unsigned* arrays[3];
  for (int i = 0; i < 3; i++) {
    arrays[i] = malloc(4000);
    for (int j = 0; j < 1000; j++) arrays[i][j] = (unsigned)(i * j);
    pthread_create(&threads[6 + i], NULL, worker, arrays[i]);
  }
  for (int i = 3; i < 6; i++) pthread_join(threads[i], NULL);
  pthread_mutex_lock(&queue->lock);
  queue->closed = 1;
  pthread_cond_broadcast(&queue->ready);
  pthread_mutex_unlock(&queue->lock);
  long all = 0;
  for (int i = 0; i < 3; i++) {
    void* result;
    pthread_join(threads[i], &result);
    all += *(long*)result;
    free(result);
  }
  unsigned h = 0;
  for (int i = 6; i < 9; i++) {
    void* result;
    pthread_join(threads[i], &result);
    if (result != arrays[i - 6]) printf("wrong\n");
    h = h * 31 + ((unsigned*)result)[999];
  }
  printf("%d %ld %u %d\n", all == *total, all, h, destroyed);
  return 0;
}
