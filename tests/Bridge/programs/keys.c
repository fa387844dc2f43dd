// Destructors of keys that run to the last round: what compiled code in them makes known of a thread goes with the thread, whose stack is unmapped.
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_key_t key;
static int rounds;
struct value {
  int round;
  char* text;
};

static void destroy(void* pointer) {
  struct value* value = pointer;
  struct value* next = malloc(sizeof *next);
  next->round = value->round + 1;
  next->text = malloc(100);
  strcpy(next->text, value->text);
  rounds += strlen(next->text) == 7;
  free(value->text);
  free(value);
  pthread_setspecific(key, next);
}
static void* run(void* unused) {
  struct value* first = malloc(sizeof *first);
  first->round = 0;
  first->text = strdup("destroy");
  pthread_setspecific(key, first);
  return unused;
}

int main(void) {
  pthread_key_create(&key, destroy);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  // Larger than what the C library keeps of them.
  pthread_attr_setstacksize(&attributes, (size_t)128 << 20);
  for (int i = 0; i < 30; i++) {
    pthread_t thread;
    if (pthread_create(&thread, &attributes, run, NULL) != 0) return 1;
    pthread_join(thread, NULL);
    for (int n = 0; n < 50; n++) free(malloc((size_t)n * 10));
  }
  printf("%d\n", rounds == 30 * PTHREAD_DESTRUCTOR_ITERATIONS);
  return 0;
}
