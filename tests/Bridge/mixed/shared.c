// A shared library that is compiled with handles.
#include <stdlib.h>
#include <string.h>
struct stack {
  int used, size;
  int* items;
};
struct stack* stack_new(void) { return calloc(1, sizeof(struct stack)); }
void stack_push(struct stack* s, int item) {
  if (s->used == s->size) s->items = realloc(s->items, sizeof(int) * (size_t)(s->size = s->size * 2 + 4));
  s->items[s->used++] = item;
}
int stack_sum(const struct stack* s) {
  int t = 0;
  for (int i = 0; i < s->used; i++) t += s->items[i];
  return t;
}
void stack_free(struct stack* s) {
  free(s->items);
  free(s);
}
int stack_each(const struct stack* s, int (*visit)(int)) {
  int t = 0;
  for (int i = 0; i < s->used; i++) t += visit(s->items[i]);
  return t;
}
