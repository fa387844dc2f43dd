// Words that are no pointers, where the compiler translates a pointer before it knows that there is one: in front of loops that do not run, and in the
// other member of a union. Any 64 bits may stand there.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  int kind;  // 0: nothing, 1: numbers
  int count;
  union {
    double real;
    uint64_t word;
    int* numbers;
  };
} Value;

// The loop's translation comes before the test of the count.
__attribute__((noinline)) static long sum(const Value* value) {
  long total = 0;
  int* numbers = value->numbers;
  for (int i = 0; i < value->count; i++) total += numbers[i];
  return total;
}

// As a select: both pointers are there, one is used.
__attribute__((noinline)) static int first(const Value* value, int* other) { return *(value->kind == 1 ? value->numbers : other); }

static uint64_t state = 88172645463325252u;
static uint64_t next(void) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

int main(void) {
  long total = 0;
  int other = 3;
  Value* value = malloc(sizeof *value);
  for (int bit = 0; bit < 64; bit++) {
    for (int shape = 0; shape < 4; shape++) {
      memset(value, 0, sizeof *value);
      value->word = shape == 0 ? UINT64_C(1) << bit : shape == 1 ? ~(UINT64_C(1) << bit) : shape == 2 ? (UINT64_C(1) << bit) - 1 : -(UINT64_C(1) << bit);
      total += sum(value) + first(value, &other);
    }
  }
  for (int i = 0; i < 5000; i++) {
    value->kind = value->count = 0;
    value->word = next();
    total += sum(value) + first(value, &other);
    value->real = (double)(int64_t)next() / (double)(1 + next() % 1000);
    total += sum(value) + first(value, &other);
    if (i % 10 == 0) {
      value->kind = 1;
      value->count = i % 50 + 1;
      value->numbers = malloc((size_t)value->count * sizeof(int));
      for (int n = 0; n < value->count; n++) value->numbers[n] = n;
      total += sum(value) + first(value, &other);
      free(value->numbers);
    }
  }
  free(value);
  printf("%ld\n", total);
  return 0;
}
