// Memory goes both ways between compiled code and the C library, which has another allocator.
#define _GNU_SOURCE
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern long allocator_calls __attribute__((weak));

int main(void) {
#ifndef WITHOUT
  if (&allocator_calls == NULL || allocator_calls == 0) return 2;
#endif
  int right = 0;
  for (int i = 0; i < 50; i++) {
    char* made = NULL;
    asprintf(&made, "%d and %s", i, "more");
    right += malloc_usable_size(made) >= strlen(made);
    made = realloc(made, 100);
    strcat(made, "!");
    right += made[strlen(made) - 1] == '!';
    free(made);
    // The C library enlarges an object of the program.
    FILE* file = tmpfile();
    fprintf(file, "%s\n", "a line that is longer than its first buffer");
    rewind(file);
    size_t size = 4;
    char* line = malloc(size);
    right += getline(&line, &size, file) > 4 && size > 4;
    fclose(file);
    free(line);
    // Larger than any object with a handle: only reserved.
    char* large = malloc((size_t)3584 << 20);
    right += large != NULL;
    if (large != NULL) large[(size_t)3 << 30] = 1;
    free(large);
  }
  puts(right == 200 ? "right" : "wrong");
  return 0;
}
