// Every way in which an instruction of LLVM touches memory.
#define _GNU_SOURCE
#include <emmintrin.h>
#include <immintrin.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct big {
  long words[12];
};
struct small {
  int a, b;
};
static struct big __attribute__((noinline)) make_big(long seed) {
  struct big b;
  for (int i = 0; i < 12; i++) b.words[i] = seed * (i + 1);
  return b;
}
static long __attribute__((noinline)) sum_big(struct big b) {
  long s = 0;
  for (int i = 0; i < 12; i++) s += b.words[i];
  b.words[0] = 0;
  return s;
}
static struct small __attribute__((noinline)) swap_small(struct small s) { return (struct small){s.b, s.a}; }
static long __attribute__((noinline)) variadic(int n, ...) {
  va_list list, copy;
  va_start(list, n);
  va_copy(copy, list);
  long s = 0;
  for (int i = 0; i < n; i++) s += *va_arg(list, long*);
  for (int i = 0; i < n; i++) s += *va_arg(copy, long*) * 3;
  va_end(copy);
  va_end(list);
  return s;
}
struct bits {
  unsigned a : 3, b : 7, c : 22;
};
union either {
  double d;
  uint64_t u;
  char c[8];
};
typedef int v4 __attribute__((vector_size(16)));
typedef float v8 __attribute__((vector_size(32)));
static jmp_buf* jump;
static void __attribute__((noinline)) jump_back(int* p) {
  *p += 5;
  longjmp(*jump, *p);
}
struct flexible {
  int n;
  int items[];
};
static int labels(const unsigned char* code, int* stack) {
  static void* const table[] = {&&push, &&add, &&mul, &&end};
  int* top = stack;
  goto* table[*code];
push:
  *top++ = *++code;
  code++;
  goto* table[*code];
add:
  top--;
  top[-1] += *top;
  code++;
  goto* table[*code];
mul:
  top--;
  top[-1] *= *top;
  code++;
  goto* table[*code];
end:
  return top[-1];
}
static int with_vla(int n) {
  int a[n];
  int* p = malloc(sizeof(int) * (size_t)n);
  for (int i = 0; i < n; i++) a[i] = p[i] = i;
  int s = 0;
  for (int i = 0; i < n; i++) s += a[i] * p[n - 1 - i];
  free(p);
  return s;
}

int main(void) {
  struct big* b = malloc(sizeof *b);
  *b = make_big(7);
  printf("%ld\n", sum_big(*b));
  struct big* c = malloc(sizeof *c);
  *c = *b;
  c->words[3] = -1;
  printf("%ld %ld\n", sum_big(*c), sum_big(*b));
  struct small* s = malloc(sizeof *s);
  *s = (struct small){1, 2};
  *s = swap_small(*s);
  printf("%d %d\n", s->a, s->b);
  long* l = malloc(3 * sizeof *l);
  l[0] = 1;
  l[1] = 20;
  l[2] = 300;
  printf("%ld\n", variadic(3, &l[0], &l[1], &l[2]));
  struct bits* f = calloc(1, sizeof *f);
  f->a = 5;
  f->b = 100;
  f->c = 123456;
  f->b++;
  printf("%u %u %u\n", f->a, f->b, f->c);
  union either* e = malloc(sizeof *e);
  e->d = 3.25;
  printf("%llx %d\n", (unsigned long long)e->u, e->c[7]);

  _Atomic long* counter = malloc(sizeof *counter);
  atomic_init(counter, 5);
  long old = atomic_fetch_add(counter, 7);
  long expected = 12;
  _Bool changed = atomic_compare_exchange_strong(counter, &expected, 100);
  long got = atomic_exchange(counter, 3);
  atomic_fetch_or(counter, 8);
  printf("%ld %d %ld %ld\n", old, changed, got, atomic_load(counter));
  int** pointer = malloc(sizeof *pointer);
  int* target = malloc(sizeof *target);
  *target = 42;
  __atomic_store_n(pointer, target, __ATOMIC_SEQ_CST);
  int* want = target;
  int* other = malloc(sizeof *other);
  *other = 43;
  printf("%d %d\n", __atomic_compare_exchange_n(pointer, &want, other, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST), **pointer);
  __int128* wide = aligned_alloc(16, 16);
  *wide = (__int128)1 << 100;
  printf("%d\n", (int)(*wide >> 98));

  v4* v = malloc(16 * 4);
  for (int i = 0; i < 4; i++) v[i] = (v4){i, i + 1, i + 2, i + 3};
  v4 t = v[0] * v[1] + v[2] - v[3];
  printf("%d %d %d %d\n", t[0], t[1], t[2], t[3]);
  v8* w = aligned_alloc(32, 64);
  w[0] = (v8){1, 2, 3, 4, 5, 6, 7, 8};
  w[1] = w[0] * w[0];
  printf("%.0f\n", (double)w[1][7]);
  __m128i* m = malloc(32);
  _mm_storeu_si128(m, _mm_set1_epi32(9));
  _mm_stream_si128(m + 1, _mm_loadu_si128(m));
  _mm_maskmoveu_si128(_mm_set1_epi8(1), _mm_set_epi8(-1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -1), (char*)m);
  _mm_prefetch((char*)m, _MM_HINT_T0);
  _mm_clflush(m);
  printf("%x %x\n", ((unsigned*)m)[0], ((unsigned*)m)[7]);

  unsigned long* a = malloc(16);
  a[0] = 11;
  a[1] = 31;
  unsigned long r;
  __asm__("mov %1, %0\n\tadd %2, %0" : "=&r"(r) : "m"(a[0]), "m"(a[1]));
  __asm__ volatile("movq $77, (%0)" : : "r"(a) : "memory");
  __asm__ volatile("incq %0" : "+m"(a[1]));
  printf("%lu %lu %lu\n", r, a[0], a[1]);

  jump = malloc(sizeof *jump);
  int* volatile times = malloc(sizeof(int));
  *times = 0;
  int came = setjmp(*jump);
  if (came < 20) jump_back(times);
  printf("%d %d\n", came, *times);

  struct flexible* flex = malloc(sizeof *flex + 10 * sizeof(int));
  flex->n = 10;
  for (int i = 0; i < flex->n; i++) flex->items[i] = i * i;
  printf("%d\n", flex->items[9]);
  unsigned char* code = malloc(16);
  memcpy(code, (unsigned char[]){0, 6, 0, 7, 2, 0, 3, 1, 3}, 9);
  printf("%d\n", labels(code, malloc(64)));
  printf("%d\n", with_vla(50));
  long double* ld = malloc(sizeof *ld);
  *ld = 1.5L;
  printf("%.2Lf\n", *ld * 3);
  _Complex double* z = malloc(sizeof *z);
  *z = 1 + 2.0i;
  *z *= *z;
  printf("%.1f %.1f\n", __real__ * z, __imag__ * z);
  // Tags in low bits, pointers as numbers, xor lists.
  uintptr_t tagged = (uintptr_t)flex | 1;
  if (tagged & 1) printf("%d\n", ((struct flexible*)(tagged & ~(uintptr_t)1))->n);
  uintptr_t mixed = (uintptr_t)flex ^ (uintptr_t)b;
  printf("%ld\n", ((struct big*)(mixed ^ (uintptr_t)flex))->words[1]);
  volatile int* vol = malloc(sizeof *vol);
  *vol = 4;
  (*vol)++;
  printf("%d\n", *vol);
  memset(b, 0x5a, sizeof *b);
  printf("%lx %p\n", (unsigned long)b->words[11], (void*)(b == c ? b : NULL));
  char* cp = strdup("duplicate");
  char* nd = strndup("duplicate", 3);
  printf("%s %s %zu\n", cp, nd, strlen(cp) + strlen(nd));
  return 0;
}
