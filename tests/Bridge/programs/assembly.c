// Inline assembly that gives pointers back.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct node {
  struct node* next;
  long value;
};

static char* hide(char* text) {
  __asm__("" : "+r"(text));
  return text;
}
static char* skip(char* text, long count) {
  __asm__("add %1, %0" : "+r"(text) : "r"(count) : "cc");
  return text;
}
static char* behind(char* text) {
  char* result;
  __asm__("lea 3(%1), %0" : "=r"(result) : "r"(text));
  return result;
}
static char* copy_bytes(char* to, char* from, size_t count, char** rest) {
  __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(count) : : "memory");
  *rest = from;
  return to;
}
// The value that it loads is a handle already.
static struct node* follow(struct node* node) {
  struct node* next;
  __asm__("mov (%1), %0" : "=r"(next) : "r"(node) : "memory");
  return next;
}
static struct node* follow_in_place(struct node* node) {
  __asm__("mov (%0), %0" : "+r"(node) : : "memory");
  return node;
}
// What is exchanged is data, a handle like the one in memory; the place is an address, as an operand in memory or in a register.
static struct node* exchange(struct node** place, struct node* with) {
  __asm__ volatile("xchg %0, %1" : "+r"(with), "+m"(*place) : : "memory");
  return with;
}
static struct node* exchange_there(struct node** place, struct node* with) {
  __asm__ volatile("xchg %0, (%1)" : "+r"(with) : "r"(place) : "memory");
  return with;
}
static int replace(struct node** place, struct node* old, struct node* with) {
  char equal;
  __asm__ volatile("lock cmpxchg %3, %1; sete %0" : "=q"(equal), "+m"(*place), "+a"(old) : "r"(with) : "memory", "cc");
  return equal;
}
static char* advance(char** place, long count) {
  __asm__ volatile("lock xadd %0, %1" : "+r"(count), "+m"(*place) : : "memory", "cc");
  return (char*)count;
}
static int churn(void);
static int exchanges(int round) {
  struct node** place = malloc(sizeof *place);
  struct node *one = malloc(sizeof *one), *two = malloc(sizeof *two);
  one->value = round;
  two->value = round + 1;
  *place = one;
  struct node* was = exchange(place, two);
  churn();
  int right = was == one && *place == two && was->value == round && (*place)->value == round + 1;
  right &= exchange_there(place, one) == two && *place == one;
  churn();
  right &= !replace(place, two, one) && replace(place, one, two) && *place == two && (*place)->value == round + 1;
  char** text = malloc(sizeof *text);
  char* start = *text = strdup("exchange");
  right &= advance(text, 2) == start && *text == start + 2;
  churn();
  right &= **text == 'c';
  free(start);
  free(text);
  free(one);
  free(two);
  free(place);
  return right;
}
static int churn(void) {
  int total = 0;
  for (int i = 0; i < 50; i++) {
    char* copy = strdup("something else");
    total += copy[i % 10];
    free(copy);
  }
  return total;
}

int main(void) {
  int right = 0;
  for (int round = 0; round < 20; round++) {
    char* text = strdup("assembly");
    char* to = malloc(9);
    char* hidden = hide(text);
    char* later = skip(text, 4);
    char* other = behind(text);
    char* rest;
    char* end = copy_bytes(to, text, 8, &rest);
    struct node* second = malloc(sizeof *second);
    struct node* first = malloc(sizeof *first);
    first->next = second;
    second->next = NULL;
    second->value = round;
    struct node* found = follow(first);
    struct node* found_in_place = follow_in_place(first);
    *end = 0;
    churn();
    right += hidden == text && *hidden == 'a' && later == text + 4 && *later == 'm' && other == text + 3 && *other == 'e' && end == to + 8 &&
             rest == text + 8 && strcmp(to, text) == 0 && found == second && found->value == round && found_in_place == second && follow(second) == NULL &&
             exchanges(round);
    free(first);
    free(found);
    free(to);
    free(hidden);
  }
  printf("%d\n", right);
  return 0;
}
