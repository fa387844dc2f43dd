// Compiled by clang alone.
#include "costs.h"

void plain_nothing(void) { __asm__ volatile(""); }
long plain_read(const struct box* box) { return box->number; }
// Through a pointer in memory, which is a handle: each read is repaired. mov.
long plain_moves(struct box* const* inner, long count) {
  long last = 0;
  for (long i = 0; i < count; i++) __asm__ volatile("movq 8(%1), %0" : "=r"(last) : "r"(*inner) : "memory");
  return last;
}
// add.
long plain_sums(struct box* const* inner, long count) {
  long sum = 0;
  for (long i = 0; i < count; i++) __asm__ volatile("addq 8(%1), %0" : "+r"(sum) : "r"(*inner) : "memory");
  return sum;
}
void plain_call(void (*function)(void), long count) {
  for (long i = 0; i < count; i++) function();
}
