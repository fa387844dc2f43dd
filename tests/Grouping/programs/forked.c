// A child that goes on where its parent is, with objects of both.
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

struct node {
  struct node* next;
  long value;
};
static struct node* list;

__attribute__((noinline)) void add(long value) {
  struct node* node = malloc(sizeof *node);
  node->next = list;
  node->value = value;
  list = node;
}
__attribute__((noinline)) void parents(int n) {
  for (int i = 0; i < n; i++) add(i);
}
__attribute__((noinline)) void childs(int n) {
  for (int i = 0; i < n; i++) add(i);
}
__attribute__((noinline)) pid_t split(void) {
  pid_t child = fork();
  if (child == 0) childs(50);
  return child;
}

int main(void) {
  parents(100);
  pid_t child = split();
  int code = 0;
  if (child != 0) waitpid(child, &code, 0);
  long sum = 0;
  for (int round = 0; round < 10; round++) {
    for (struct node* node = list; node != NULL; node = node->next) sum += node->value;
  }
  printf("%s %ld %d\n", child == 0 ? "child" : "parent", sum, code);
  return 0;
}
