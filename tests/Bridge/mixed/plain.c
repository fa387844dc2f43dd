// Compiled without handles: reads what it is given, keeps it, calls back, frees, and follows handles that it finds in memory.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct pair {
  char* text;
  struct pair* next;
};
typedef int (*visitor)(void* context, char* text);
static char* kept;

int plain_length(const char* text) { return (int)strlen(text); }
void plain_keep(char* text) { kept = text; }
int plain_read_kept(void) { return kept[0] + kept[1]; }
char* plain_find(char* text, int c) { return strchr(text, c); }
char* plain_same(char* text) { return text; }
// Through rbp: the processor says otherwise then that it is no address.
int plain_framed(const char* text) {
  int result;
  __asm__("push %%rbp; mov %1, %%rbp; movzbl (%%rbp), %0; pop %%rbp" : "=a"(result) : "r"(text) : "memory");
  return result;
}
int plain_framed_list(const struct pair* list) { return plain_framed(list->text); }
void plain_free(void* memory) { free(memory); }
char* plain_make(const char* text) { return strdup(text); }
// The nodes' pointers are handles.
int plain_walk(struct pair* list) {
  int total = 0;
  for (struct pair* p = list; p != NULL; p = p->next) total += (int)strlen(p->text);
  return total;
}
// A thread that never runs compiled code follows handles while others move what they mean.
static struct pair* walked;
static int rounds_done, walk_total;
static pthread_t walker;
static void* walk_often(void* nothing) {
  for (int i = 0; i < 1500; i++) {
    walk_total += plain_walk(walked);
    __atomic_store_n(&rounds_done, i + 1, __ATOMIC_RELEASE);
  }
  return nothing;
}
void plain_start(struct pair* list) {
  walked = list;
  pthread_create(&walker, NULL, walk_often, NULL);
}
int plain_rounds(void) { return __atomic_load_n(&rounds_done, __ATOMIC_ACQUIRE); }
int plain_finish(void) {
  pthread_join(walker, NULL);
  return walk_total;
}
int plain_visit(struct pair* list, visitor visit, void* context) {
  int total = 0;
  for (struct pair* p = list; p != NULL; p = p->next) total += visit(context, p->text);
  return total;
}
visitor plain_default(void);
static int count_letters(void* context, char* text) {
  *(int*)context += 1;
  return (int)strlen(text) * 100;
}
visitor plain_default(void) { return count_letters; }
