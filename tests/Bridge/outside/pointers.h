#include <stddef.h>

struct range {
  char *begin, *end;
};
struct view {
  size_t size;
  char* text;
};
struct tail {
  char* rest;
  int skipped;
};
// Returned in memory.
struct pieces {
  char* whole;
  int count;
  char* ends[2];
  struct view view;
};
struct block {
  long numbers[8];
};
char* plain_end(char* text, size_t size);
int plain_visit(char* text, size_t size, int (*visit)(char*, char*, void*), void* context);
struct range plain_range(char* text, size_t size);
struct view plain_view(char* text, size_t size);
struct tail plain_tail(char* text, int skipped);
struct pieces plain_pieces(char* text, size_t size);
int plain_ask(struct range (*ask)(char*, size_t), char* text, size_t size);
void plain_keep(void* context);
int plain_work(char* text, int (*check)(void*, void*), void* expected);
long plain_sum(struct block block, long more);
