// Not compiled with handles: it finds one in memory.
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
