// Compiled with handles. Names that libraries find in memory are handles.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct box {
  char* name;
};
long call_all(struct box* box, int* called);

int main(void) {
  struct box* box = malloc(sizeof *box);
  box->name = malloc(100);
  strcpy(box->name, "name");
  int called = 0;
  long wrong = call_all(box, &called);
  printf("%ld wrong, %s\n", wrong, called > 40 && (long)box->name < 0 ? "called all" : "called nothing");
  free(box->name);
  free(box);
  return 0;
}
