// Structures that calls copy, of many sizes, with and without pointers, through pointers to functions: past entries and bridges.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHAPE(words)                                                                          \
  struct s##words {                                                                           \
    long* w[words];                                                                           \
  };                                                                                          \
  static long sum##words(long first, struct s##words s, double scale, long* last) {           \
    long total = first;                                                                       \
    for (int i = 0; i < words; i++) total = total * 3 + *s.w[i];                              \
    s.w[0] = last;                                                                            \
    return total + *s.w[0] * (long)scale;                                                     \
  }                                                                                           \
  static struct s##words turn##words(struct s##words s, long* in) {                           \
    struct s##words r;                                                                        \
    for (int i = 0; i < words; i++) r.w[i] = s.w[words - 1 - i];                              \
    r.w[words / 2] = in;                                                                      \
    return r;                                                                                 \
  }                                                                                           \
  static long (*volatile call_sum##words)(long, struct s##words, double, long*) = sum##words; \
  static struct s##words (*volatile call_turn##words)(struct s##words, long*) = turn##words;  \
  static long try##words(void) {                                                              \
    struct s##words* s = malloc(sizeof *s);                                                   \
    for (int i = 0; i < words; i++) *(s->w[i] = malloc(sizeof(long))) = i + words;            \
    long* last = malloc(sizeof *last);                                                        \
    *last = 7;                                                                                \
    long a = call_sum##words(words, *s, 2.5, last);                                           \
    struct s##words t = call_turn##words(*s, last);                                           \
    long b = call_sum##words(a, t, 1.5, s->w[0]);                                             \
    for (int i = 0; i < words; i++) free(s->w[i]);                                            \
    free(s);                                                                                  \
    free(last);                                                                               \
    return a ^ b;                                                                             \
  }
SHAPE(1)
SHAPE(2)
SHAPE(3)
SHAPE(4)
SHAPE(5)
SHAPE(8)
SHAPE(16)
SHAPE(40)

// Only a structure, and what returns a pointer: nothing else is on the stack.
struct three {
  void* (*make)(void*, size_t);
  void (*drop)(void*, void*);
  void* context;
};
static void* take(size_t size, struct three with) { return with.make != NULL ? with.make(with.context, size) : malloc(size); }
static void drop(void* memory, struct three with) {
  if (with.drop != NULL) with.drop(with.context, memory);
  else free(memory);
}
static void* counted(void* context, size_t size) {
  *(int*)context += (int)size;
  return malloc(size);
}
static void uncounted(void* context, void* memory) {
  *(int*)context -= 1;
  free(memory);
}
static void* (*volatile call_take)(size_t, struct three) = take;
static void (*volatile call_drop)(void*, struct three) = drop;

int main(void) {
  for (int i = 0; i < 200; i++) {
    long all[] = {try1(), try2(), try3(), try4(), try5(), try8(), try16(), try40()};
    if (i % 100 == 0) {
      for (size_t n = 0; n < sizeof all / sizeof *all; n++) printf("%ld\n", all[n]);
    }
    int* count = calloc(1, sizeof *count);
    struct three with = {counted, uncounted, count}, none = {NULL, NULL, NULL};
    char* a = call_take(30, with);
    char* b = call_take(20, none);
    strcpy(a, "first");
    strcpy(b, "second");
    if (i == 150) printf("%s %s %d\n", a, b, *count);
    call_drop(a, with);
    call_drop(b, none);
    if (i == 150) printf("%d\n", *count);
    free(count);
  }
  return 0;
}
