// Compiled with handles: what C# gets from here are handles, and the objects move.
#define _GNU_SOURCE
#include "objects.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void* object_make(size_t size, unsigned seed) {
  unsigned char* made = malloc(size);
  if (made == NULL) return NULL;
  for (size_t i = 0; i < size; i++) made[i] = (unsigned char)(seed + i * 7);
  return made;
}

int object_is_intact(const void* object, size_t size, unsigned seed) {
  const unsigned char* bytes = object;
  for (size_t i = 0; i < size; i++) {
    if (bytes[i] != (unsigned char)(seed + i * 7)) return 0;
  }
  return 1;
}

void object_free(void* object) { free(object); }
void* object_inside(void* object, long offset) { return (char*)object + offset; }

// Runs long enough to be stopped in the middle, at its polls.
uint64_t object_churn(unsigned seed, unsigned rounds) {
  uint64_t sum = 0;
  unsigned char* kept[64] = {NULL};
  for (unsigned i = 0; i < rounds; i++) {
    seed = seed * 1103515245u + 12345u;
    unsigned at = seed >> 16 & 63;
    size_t size = 16 + (seed >> 8 & 1023);
    if (kept[at] != NULL) sum += kept[at][0];
    free(kept[at]);
    kept[at] = malloc(size);
    if (kept[at] != NULL) memset(kept[at], (int)i, size);
  }
  for (unsigned i = 0; i < 64; i++) free(kept[i]);
  return sum;
}

// Calls back with each of some objects; the callback may do anything.
int object_visit(unsigned count, int (*visit)(void* object, size_t size, unsigned seed)) {
  for (unsigned i = 0; i < count; i++) {
    size_t size = 24 + 8 * (i % 50);
    void* object = object_make(size, i);
    int good = object != NULL && visit(object, size, i) && object_is_intact(object, size, i);
    free(object);
    if (!good) return 0;
  }
  return 1;
}

// Memory that the C library has allocated, of all sizes, and one that grows.
int object_free_foreign(unsigned count) {
  int good = 1;
  for (unsigned i = 0; i < count; i++) {
    char *text = NULL, *line = NULL, *path = realpath("/proc/self/..", NULL);
    size_t size = 0;
    good &= path != NULL && strcmp(path, "/proc") == 0;
    good &= asprintf(&text, "%*u", (int)(i * i % 5000 + 1), i) > 0;
    FILE* stream = fmemopen(text, strlen(text), "r");
    good &= stream != NULL && getline(&line, &size, stream) > 0 && strcmp(line, text) == 0;
    if (stream != NULL) fclose(stream);
    text = realloc(text, i * i % 5000 + 3000);
    good &= text != NULL && strcmp(line, text) == 0;
    free(line);
    free(text);
    free(path);
  }
  return good;
}
