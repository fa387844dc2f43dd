// Pointers that uncompiled code gives back, and passes to callbacks: ends of objects, and members of structures.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pointers.h"

static int same_range(char* begin, char* end, void* size) { return (size_t)(end - begin) == *(size_t*)size; }
static struct range whole(char* text, size_t size) { return (struct range){text, text + size}; }
static int is_expected(void* context, void* expected) { return context == *(void**)expected; }

int main(void) {
  // Neighbours that fill their slots: the end of one is the start of the next.
  enum { kObjects = 200 };
  static char* all[kObjects];
  size_t sizes[] = {16, 32, 64, 128, 8192, 65536};
  for (int s = 0; s < 6; s++) {
    size_t size = sizes[s];
    int ends = 0, ranges = 0, members = 0, contexts = 0, given = 0, written = 0;
    for (int i = 0; i < kObjects; i++) memset(all[i] = malloc(size), i, size);
    static size_t wanted;
    wanted = size;
    // Uncompiled code knows one of them at a time, so it can mean none of the neighbours.
    for (int i = 1; i < kObjects; i += 2) {
      char* p = all[i];
      ends += plain_end(p, size) == p + size;
      ranges += plain_visit(p, size, same_range, &wanted);
      struct range range = plain_range(p, size);
      struct view view = plain_view(p, size);
      struct tail tail = plain_tail(p, (int)size / 2);
      members += (range.begin == p) + (range.end == p + size) + (view.text == p) + (view.size == size) + (tail.rest == p + size / 2) + tail.skipped;
      given += plain_ask(whole, p, size);
      // What it holds is where it was, however often everything has moved.
      char* more = malloc(size);
      free(more);
      written += *range.begin == (char)i && *view.text == (char)i && *tail.rest == (char)i && range.end[-1] == (char)i;
      free(p);
    }
    // The start of an object that uncompiled code has kept is not the end of the one before.
    static void* expected;
    for (int i = 2; i < kObjects; i += 2) {
      expected = all[i];
      plain_keep(all[i]);
      contexts += plain_work(all[i - 2], is_expected, &expected);
    }
    printf("%zu: %d %d %d %d %d %d\n", size, ends, ranges, members, given, written, contexts);
    for (int i = 0; i < kObjects; i += 2) free(all[i]);
  }
  // On the stack, and in an object.
  int right = 0;
  for (int i = 0; i < 100; i++) {
    char* text = malloc(100);
    struct pieces pieces = plain_pieces(text, 100);
    struct pieces* kept = malloc(sizeof *kept);
    *kept = plain_pieces(text, 100);
    free(malloc(50));
    const struct pieces* both[] = {&pieces, kept};
    for (int n = 0; n < 2; n++) {
      right += both[n]->whole == text && both[n]->count == 2 && both[n]->ends[0] == text + 25 && both[n]->ends[1] == text + 50 && both[n]->view.text == text;
    }
    free(kept);
    free(text);
  }
  printf("%d\n", right);
  struct block* block = malloc(sizeof *block);
  for (int i = 0; i < 8; i++) block->numbers[i] = i;
  long total = 0;
  for (int i = 0; i < 1000; i++) {
    block->numbers[3] = i;
    total += plain_sum(*block, i);
  }
  printf("%ld\n", total);
  free(block);
  return 0;
}
