// The same library: it calls them through its linkage table, as libraries do.
long wanted[8];
int is_name[6];
double wanted_number;
int by_registers;
extern long wrong;

struct box {
  char* name;
};

static void want(int places, long word) {
  for (int i = 0; i < 7; i++) wanted[i] = word < 0 ? word : word + i;
  for (int i = 0; i < 6; i++) is_name[i] = word < 0 && (places >> i & 1) != 0;
  wanted_number = 0.5;
}

#define FREEHOLD_NAMED(symbol, places) long symbol(long, long, long, long, long, long, long, double);
#include "names.inc"
#undef FREEHOLD_NAMED

#define CALL(symbol) (symbol(wanted[0], wanted[1], wanted[2], wanted[3], wanted[4], wanted[5], wanted[6], wanted_number) != 0x123456789abcdef0 ? wrong++ : 0)

// How many arguments and results were not those that were given: numbers of 64 bits, and a handle in every place.
long call_all(struct box* box, int* called) {
  wrong = 0;
  *called = 0;
#define FREEHOLD_NAMED(symbol, places) \
  by_registers = 0;                    \
  want(places, 0x1122334455667788);    \
  CALL(symbol);                        \
  by_registers = 1;                    \
  want(places, (long)box->name);       \
  CALL(symbol);                        \
  ++*called;
#include "names.inc"
  return wrong;
}
