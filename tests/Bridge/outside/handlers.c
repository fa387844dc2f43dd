// A handler of uncompiled code that calls compiled code: what it has interrupted stays in place, however much moves afterwards.
#include "handlers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int worked;
static void work(void) {
  for (int i = 0; i < 40; i++) {
    char* text = malloc(100);
    memset(text, i, 100);
    worked += text[i];
    free(text);
  }
}

int main(void) {
  plain_install(work);
  int sum = 0;
  for (int round = 0; round < 20; round++) {
    int* numbers = malloc(100 * sizeof *numbers);
    for (int i = 0; i < 100; i++) numbers[i] = i;
    // The loop has an address in a register when the instruction traps.
    for (int i = 0; i < 100; i++) {
      if (i % 25 == 10) __asm__ volatile("ud2");
      numbers[i] += round;
      sum += numbers[i];
    }
    for (int i = 0; i < 100; i++) sum += numbers[i] == i + round;
    free(numbers);
  }
  printf("%d %d %d\n", sum, worked, plain_is_installed());
  printf("%d\n", plain_signal());
  return 0;
}
