// The other side of blocks.c, compiled without handles.
#include "blocks.h"

struct block {
  long words[BLOCK_WORDS];
};

long BLOCK(plain_sum)(struct block block);
long BLOCK(plain_sum)(struct block block) {
  long sum = 0;
  for (int i = 0; i < BLOCK_WORDS; i++) sum += block.words[i];
  return sum;
}
struct block BLOCK(plain_count)(long first);
struct block BLOCK(plain_count)(long first) {
  struct block block;
  for (int i = 0; i < BLOCK_WORDS; i++) block.words[i] = first + i;
  return block;
}
long BLOCK(plain_back)(long (*back)(struct block, const char*), const char* text);
long BLOCK(plain_back)(long (*back)(struct block, const char*), const char* text) { return back(BLOCK(plain_count)(1), text); }
