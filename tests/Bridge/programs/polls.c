// Polls with no, few and many translated pointers, and with integers and floating-point numbers in registers beside them.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define N 400

static uint32_t seed = 1;
static uint32_t next(void) { return seed = seed * 1664525 + 1013904223; }

// A loop whose rounds differ, so that it is neither unrolled nor made vectors.
#define MIX(x) ((x) = (x) * 31 + (next() & 7))

__attribute__((noinline)) static uint64_t none(unsigned n) {
  uint64_t a = n, b = 3, c = 5, d = 7, e = 11, f = 13, g = 17, h = 19;
  double x = 1, y = 0.5;
  for (unsigned i = 0; i < n * 50; i++) {
    a = a * 3 + b;
    b ^= c >> 3;
    c += d * 5;
    d -= e ^ i;
    e = e * 7 + f;
    f += g << 2;
    g ^= h + a;
    h = h * 9 + b;
    x = x * 0.999 + (double)(a & 15);
    y += x / (double)(i + 1);
    if ((a & 1023) == 5) MIX(h);
  }
  return a ^ b ^ c ^ d ^ e ^ f ^ g ^ h ^ (uint64_t)(x * 1000) ^ (uint64_t)(y * 1000);
}

__attribute__((noinline)) static uint64_t three(uint32_t* p, const uint32_t* q, double* r, unsigned n) {
  uint64_t sum = 0;
  double scale = 1.25, bias = 0;
  for (unsigned i = 1; i < n; i++) {
    p[i] += q[(i * 7) % n] ^ p[i - 1];
    r[i] = r[i - 1] * 0.5 + scale + bias;
    bias += (double)(p[i] & 3);
    sum = sum * 31 + p[i] + (uint64_t)r[i];
  }
  return sum;
}

__attribute__((noinline)) static uint64_t seven(uint32_t* a, uint32_t* b, uint32_t* c, uint32_t* d, uint32_t* e, uint32_t* f, uint32_t* g, unsigned n) {
  uint64_t sum = 0;
  for (unsigned i = 1; i < n; i++) {
    a[i] += b[(i * 3) % n] + a[i - 1];
    c[i] ^= d[(i * 5) % n] + c[i - 1];
    e[i] += f[(i * 11) % n] ^ g[(i * 13) % n];
    sum = sum * 31 + a[i] + c[i] + e[i];
  }
  return sum;
}

__attribute__((noinline)) static uint64_t twelve(uint32_t* const* all, unsigned n) {
  uint32_t *a = all[0], *b = all[1], *c = all[2], *d = all[3], *e = all[4], *f = all[5], *g = all[6], *h = all[7], *i = all[8], *j = all[9], *k = all[10],
           *l = all[11];
  uint64_t sum = 0;
  double x = 0;
  for (unsigned at = 1; at < n; at++) {
    a[at] += b[(at * 3) % n] + l[at - 1];
    c[at] ^= d[(at * 5) % n] + a[at - 1];
    e[at] += f[(at * 7) % n] ^ g[(at * 9) % n];
    h[at] += i[(at * 11) % n] + c[at - 1];
    j[at] ^= k[(at * 13) % n] + e[at - 1];
    l[at] += h[at] + j[at];
    x = x * 0.75 + (double)(l[at] & 255);
    sum = sum * 31 + l[at] + (uint64_t)x;
  }
  return sum;
}

int main(void) {
  uint32_t* all[12];
  for (int i = 0; i < 12; i++) {
    all[i] = malloc(N * sizeof(uint32_t));
    for (int n = 0; n < N; n++) all[i][n] = next();
  }
  double* r = calloc(N, sizeof(double));
  for (int round = 0; round < 6; round++) {
    printf("%016llx ", (unsigned long long)none(N));
    printf("%016llx ", (unsigned long long)three(all[0], all[1], r, N));
    printf("%016llx ", (unsigned long long)seven(all[0], all[1], all[2], all[3], all[4], all[5], all[6], N));
    printf("%016llx\n", (unsigned long long)twelve(all, N));
  }
  for (int i = 0; i < 12; i++) free(all[i]);
  free(r);
  return 0;
}
