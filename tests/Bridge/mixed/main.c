#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pair {
  char* text;
  struct pair* next;
};
typedef int (*visitor)(void* context, char* text);
int plain_length(const char*);
void plain_keep(char*);
int plain_read_kept(void);
char* plain_find(char*, int);
char* plain_same(char*);
void plain_free(void*);
char* plain_make(const char*);
int plain_walk(struct pair*);
void plain_start(struct pair*);
int plain_rounds(void);
int plain_finish(void);
int plain_framed_list(const struct pair*);
int plain_visit(struct pair*, visitor, void*);
visitor plain_default(void);
long blocks3(void);
long blocks6(void);
struct stack;
struct stack* stack_new(void);
void stack_push(struct stack*, int);
int stack_sum(const struct stack*);
void stack_free(struct stack*);
int stack_each(const struct stack*, int (*)(int));

static struct pair* head;
static int visit(void* context, char* text) {
  // A callback that allocates, and looks whether what it got is what it knows.
  char* copy = strdup(text);
  int known = 0;
  for (struct pair* p = head; p != NULL; p = p->next) known += p->text == text;
  *(int*)context += known;
  int n = (int)strlen(copy);
  free(copy);
  return n;
}
static int twice(int n) {
  char* s = malloc((size_t)n + 1);
  memset(s, 'x', (size_t)n);
  s[n] = 0;
  n = 2 * (int)strlen(s);
  free(s);
  return n;
}

static void unexpected(int number) {
  (void)number;
  puts("unexpected");
  exit(1);
}

int main(int count, char** arguments) {
  if (count > 1) {
    volatile char* gone = malloc(40);
    if (strcmp(arguments[1], "inside") == 0) free((char*)gone + 8);
    free((char*)gone);
    if (strcmp(arguments[1], "double") == 0) free((char*)gone);
    return gone[3];
  }
  // A handler of the program's does not stand in front of the one that knows handles.
  signal(SIGSEGV, unexpected);
  signal(SIGBUS, unexpected);
  char* text = strdup("hello, handles");
  printf("%d\n", plain_length(text));
  plain_keep(text);
  printf("%d\n", plain_read_kept());
  char* found = plain_find(text, ',');
  printf("%s %d %d\n", found, (int)(found - text), plain_same(text) == text);
  for (int i = 0; i < 100; i++) {
    struct pair* p = malloc(sizeof *p);
    p->text = malloc(32);
    sprintf(p->text, "pair %d", i);
    p->next = head;
    head = p;
  }
  int* calls = calloc(1, sizeof *calls);
  printf("%d %d\n", plain_visit(head, visit, calls), *calls);
  printf("%d\n", plain_walk(head));
  printf("%d\n", plain_framed_list(head));
  // The list of the thread is only its own, so nothing has pinned it but the head that it was given.
  struct pair* own = NULL;
  for (int i = 0; i < 20; i++) {
    struct pair* p = malloc(sizeof *p);
    p->text = strdup("moving");
    p->next = own;
    own = p;
  }
  plain_start(own);
  while (plain_rounds() < 1500) {
    char* churn = malloc(64);
    churn[0] = 1;
    free(churn);
  }
  printf("%d\n", plain_finish());
  visitor theirs = plain_default();
  int n = theirs(calls, text);
  printf("%d %d\n", n, *calls);
  plain_free(malloc(100));
  char* made = plain_make(text);
  made = realloc(made, 200);
  strcat(made, "!");
  puts(made);
  free(made);
  struct stack* stack = stack_new();
  for (int i = 0; i < 100; i++) stack_push(stack, i);
  printf("%d %d\n", stack_sum(stack), stack_each(stack, twice));
  stack_free(stack);
  printf("%d\n", plain_read_kept());
  printf("%ld %ld\n", blocks3(), blocks6());
  return 0;
}
