// Another structure under the name that main.c has for its own: what lies between caller and callee is shared by type, and a name is not a type.
#include "blocks.h"

struct block {
  long words[BLOCK_WORDS];
};
long BLOCK(plain_sum)(struct block);
struct block BLOCK(plain_count)(long first);
long BLOCK(plain_back)(long (*back)(struct block, const char*), const char* text);

static long back(struct block block, const char* text) {
  long sum = 0;
  for (int i = 0; i < BLOCK_WORDS; i++) sum = sum * 10 + block.words[i];
  return sum * 10 + text[0];
}

long BLOCK(blocks)(void) {
  struct block block = BLOCK(plain_count)(3);
  char* text = malloc(2);
  text[0] = 2;
  long sum = BLOCK(plain_sum)(block) + BLOCK(plain_back)(back, text) * 1000;
  free(text);
  return sum;
}
