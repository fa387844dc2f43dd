// Instructions of uncompiled code whose address register is data too, on handles that it finds in memory.
#include <stdio.h>
#include <stdlib.h>

#include "steps.h"

int main(void) {
  struct cell** cells = malloc(8 * sizeof *cells);
  int right = 0;
  for (int i = 0; i < 8; i++) {
    cells[i] = malloc(sizeof **cells);
    cells[i]->self = cells[i];
    cells[i]->other = NULL;
    cells[i]->number = i;
  }
  for (int round = 0; round < 20; round++) {
    for (int i = 0; i < 8; i++) {
      struct cell* cell = cells[i];
      int n = 0;
      n += plain_is_self(cells, i);
      plain_store(cells, i);
      n += cell->self == cell;
      n += plain_exchange(cells, i) == cell && cell->self == cell;
      cell->other = cell;
      n += plain_compare_exchange(cells, i, cells[(i + 1) % 8]) == cell && cell->other == cells[(i + 1) % 8];
      n += plain_far(cells, i) == cell;
      n += plain_indexed(cells, i) == cell && cell->self == cell;
      n += plain_load(cells, i) == cell;
      n += plain_reset(cells, i) == 8;
      right += n == 8;
      free(malloc(100));
    }
  }
  printf("%d\n", right);
  for (int i = 0; i < 8; i++) free(cells[i]);
  free(cells);
  return 0;
}
