// Compiled without handles: reads what it is given, keeps it, calls back, frees, and follows handles that it finds in memory.
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
void plain_free(void* memory) { free(memory); }
char* plain_make(const char* text) { return strdup(text); }
// The nodes' pointers are handles.
int plain_walk(struct pair* list) {
  int total = 0;
  for (struct pair* p = list; p != NULL; p = p->next) total += (int)strlen(p->text);
  return total;
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
