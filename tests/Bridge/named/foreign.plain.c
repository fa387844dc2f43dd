// A library that is not compiled with handles, with functions of its own by all names of src/NativeBridge/Runtime/names.inc, which mean something else. They look at what arrives.
extern long wanted[8];
extern int is_name[6];
extern double wanted_number;
extern int by_registers;  // whether what is behind the sixth word arrives, too
long wrong;

static long look(long a, long b, long c, long d, long e, long f, long g, double x) {
  long words[] = {a, b, c, d, e, f};
  for (int i = 0; i < 6; i++) {
    if (is_name[i] ? words[i] < 0 || *(const char*)words[i] != 'n' : words[i] != wanted[i]) wrong++;
  }
  if (!by_registers && (g != wanted[6] || x != wanted_number)) wrong++;
  return 0x123456789abcdef0;
}

#define FREEHOLD_NAMED(symbol, places) \
  long symbol(long a, long b, long c, long d, long e, long f, long g, double x) { return look(a, b, c, d, e, f, g, x); }
#include "names.inc"
