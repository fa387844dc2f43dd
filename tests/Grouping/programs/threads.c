// Threads that each build and read lists of two kinds of nodes, and free them, some of them another thread's.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct node {
  struct node* next;
  struct item* item;
};
struct item {
  long value;
};
struct noise {
  struct noise* next;
  long words[3];
};

static struct node* lists[4];

static struct item* new_item(long value) {
  struct item* item = malloc(sizeof *item);
  item->value = value;
  return item;
}
static struct node* new_node(struct node* next, struct item* item) {
  struct node* node = malloc(sizeof *node);
  node->next = next;
  node->item = item;
  return node;
}
static struct noise* new_noise(struct noise* next) {
  struct noise* noise = calloc(1, sizeof *noise);
  noise->next = next;
  return noise;
}

static void* run(void* number) {
  long own = (long)number, sum = 0;
  struct noise* noise = NULL;
  struct node* list = NULL;
  for (long i = 0; i < 3000; i++) {
    noise = new_noise(noise);
    list = new_node(list, new_item(i));
  }
  for (int round = 0; round < 10; round++) {
    for (struct node* node = list; node != NULL; node = node->next) sum += node->item->value;
  }
  while (noise != NULL) {
    struct noise* next = noise->next;
    free(noise);
    noise = next;
  }
  lists[own] = list;
  return (void*)sum;
}

int main(void) {
  long sum = 0;
  for (int turn = 0; turn < 3; turn++) {
    pthread_t threads[4];
    for (long i = 0; i < 4; i++) pthread_create(&threads[i], NULL, run, (void*)i);
    for (int i = 0; i < 4; i++) {
      void* result;
      pthread_join(threads[i], &result);
      sum += (long)result;
    }
    for (int i = 0; i < 4; i++) {
      for (struct node* node = lists[i]; node != NULL;) {
        struct node* next = node->next;
        free(node->item);
        free(node);
        node = next;
      }
    }
  }
  printf("%ld\n", sum);
  return 0;
}
