#include "pointers.h"

static void* kept;

char* plain_end(char* text, size_t size) { return text + size; }
int plain_visit(char* text, size_t size, int (*visit)(char*, char*, void*), void* context) { return visit(text, text + size, context); }
struct range plain_range(char* text, size_t size) { return (struct range){text, text + size}; }
struct view plain_view(char* text, size_t size) { return (struct view){size, text}; }
struct tail plain_tail(char* text, int skipped) { return (struct tail){text + skipped, skipped}; }
struct pieces plain_pieces(char* text, size_t size) { return (struct pieces){text, 2, {text + size / 4, text + size / 2}, {size, text}}; }
int plain_ask(struct range (*ask)(char*, size_t), char* text, size_t size) {
  struct range range = ask(text, size);
  return range.begin == text && range.end == text + size;
}
void plain_keep(void* context) { kept = context; }
int plain_work(char* text, int (*check)(void*, void*), void* expected) { return text != NULL && check(kept, expected); }
long plain_sum(struct block block, long more) {
  for (int i = 0; i < 8; i++) more += block.numbers[i] * (i + 1);
  return more;
}
