// setjmp in loops: what was translated before its first return is translated again after its second.
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static jmp_buf back;
static int again;

// Everything may move.
static int churn(const char* text) {
  int total = 0;
  for (int i = 0; i < 50; i++) {
    char* copy = strdup(text);
    total += (int)strlen(copy) + copy[i % 3];
    free(copy);
  }
  return total;
}

__attribute__((noinline)) static long sum(const int* numbers, int count) {
  volatile long total = 0;
  volatile int i = 0;
  while (i < count) {
    if (setjmp(back) != 0) total += 1000;
    total += numbers[i];
    i++;
  }
  if (again++ % 4 != 3) {
    i = count / 2;
    total += churn("moving");
    longjmp(back, 1);
  }
  return total;
}

__attribute__((noinline)) static long walk(const char* text) {
  volatile long total = 0;
  volatile int rounds = 0;
  for (const char* p = text; *p != 0; p++) {
    if (setjmp(back) != 0) total += 100;
    total += text[rounds % 5];
    if (rounds++ > 200) break;
  }
  if (rounds < 100) {
    total += churn(text);
    rounds = 90 + rounds;
    longjmp(back, 1);
  }
  return total;
}

int main(void) {
  long total = 0;
  for (int round = 0; round < 5; round++) {
    int* numbers = malloc(50 * sizeof *numbers);
    for (int i = 0; i < 50; i++) numbers[i] = i * round;
    total += sum(numbers, 50);
    char* text = strdup("some text");
    printf("%ld %ld\n", total, walk(text));
    free(text);
    free(numbers);
  }
  return 0;
}
