// Not compiled with handles: it finds one in memory.
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

struct holder {
  char* text;
};
static volatile int done;

size_t plain_length(struct holder* holder) { return strlen(holder->text); }
void plain_free(struct holder* holder) {
  free(holder->text);
  done = 1;  // no jump to free
}
void plain_realloc(struct holder* holder) {
  holder->text = realloc(holder->text, 40);
  done = 1;
}
size_t plain_size(struct holder* holder) {
  size_t size = malloc_usable_size(holder->text);
  done = 1;
  return size;
}
