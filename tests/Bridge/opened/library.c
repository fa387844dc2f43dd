// A library that is compiled with handles, which a program that is not opens.
#include <stdlib.h>

struct node {
  struct node* next;
  long value;
};

long sum_of_list(int count) {
  struct node* first = NULL;
  for (int i = 0; i < count; i++) {
    struct node* made = malloc(sizeof *made);
    made->next = first;
    made->value = i;
    first = made;
  }
  long sum = 0;
  while (first != NULL) {
    struct node* next = first->next;
    sum += first->value;
    free(first);
    first = next;
  }
  return sum;
}
