// Arrays: loops that are vectorised, pointers that run along them, pointers outside of them, realloc, and adjustment by differences.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double dot(const double* a, const double* b, int n) {
  double s = 0;
  for (int i = 0; i < n; i++) s += a[i] * b[i];
  return s;
}
static void saxpy(float* y, const float* x, float a, int n) {
  for (int i = 0; i < n; i++) y[i] += a * x[i];
}
static int count(const char* s, char c) {
  int n = 0;
  while (*s) n += *s++ == c;
  return n;
}
static void reverse(int* first, int* last) {
  while (first < --last) {
    int t = *first;
    *first++ = *last;
    *last = t;
  }
}
// Numerical recipes: an array whose first element has index 1.
static double* vector(int n) {
  double* v = malloc(sizeof(double) * (size_t)n);
  return v - 1;
}
static void free_vector(double* v) { free(v + 1); }
static double** matrix(int n, int m) {
  double** rows = malloc(sizeof(double*) * (size_t)n);
  rows -= 1;
  rows[1] = malloc(sizeof(double) * (size_t)(n * m));
  rows[1] -= 1;
  for (int i = 2; i <= n; i++) rows[i] = rows[i - 1] + m;
  return rows;
}

int main(void) {
  int n = 1000;
  double* a = malloc(sizeof(double) * (size_t)n);
  double* b = malloc(sizeof(double) * (size_t)n);
  float* x = malloc(sizeof(float) * (size_t)n);
  float* y = aligned_alloc(64, sizeof(float) * 1024);
  for (int i = 0; i < n; i++) {
    a[i] = i;
    b[i] = n - i;
    x[i] = (float)i / 7;
    y[i] = 1;
  }
  printf("%.1f\n", dot(a, b, n));
  saxpy(y, x, 2, n);
  printf("%.3f %d\n", (double)y[999], (int)((uintptr_t)y % 64));

  char* text = malloc(4001);
  for (int i = 0; i < 4000; i++) text[i] = (char)('a' + i * i % 26);
  text[4000] = 0;
  printf("%d %d %s\n", count(text, 'a'), count(text + 17, 'q'), strchr(text, 'j') - text == 3 ? "j" : strstr(text, "q"));

  int* numbers = malloc(sizeof(int) * 777);
  for (int i = 0; i < 777; i++) numbers[i] = i * 31 % 257;
  reverse(numbers, numbers + 777);
  long h = 0;
  for (int i = 0; i < 777; i++) h = h * 31 + numbers[i];
  printf("%ld\n", h);

  double* v = vector(50);
  for (int i = 1; i <= 50; i++) v[i] = i * 1.5;
  double s = 0;
  for (int i = 1; i <= 50; i++) s += v[i];
  printf("%.2f\n", s);
  free_vector(v);
  double** m = matrix(20, 30);
  for (int i = 1; i <= 20; i++)
    for (int j = 1; j <= 30; j++) m[i][j] = i * 100 + j;
  s = 0;
  for (int j = 1; j <= 30; j++)
    for (int i = 1; i <= 20; i++) s += m[i][j] * (i - j);
  printf("%.2f\n", s);

  // A pointer into a block that moves is adjusted by the difference, as old programs do.
  size_t size = 16, used = 0;
  char* buffer = malloc(size);
  char* at = buffer;
  for (int i = 0; i < 3000; i++) {
    if (used + 1 >= size) {
      char* grown = realloc(buffer, size *= 2);
      at += grown - buffer;
      *at = (char)('A' + i % 26);
      buffer = grown;
    }
    *at++ = (char)('A' + i % 26);
    used++;
  }
  *at = 0;
  unsigned hash = 5381;
  for (char* c = buffer; *c; c++) hash = hash * 33 + (unsigned char)*c;
  printf("%u %zu\n", hash, strlen(buffer));

  // Negative strides, two dimensions, pointers one past the end.
  int(*grid)[37] = malloc(sizeof(int[37]) * 41);
  for (int i = 40; i >= 0; i--)
    for (int* p = grid[i] + 37; p-- > grid[i];) *p = (int)(p - grid[0]) ^ i;
  long g = 0;
  for (int j = 0; j < 37; j++)
    for (int i = 0; i < 41; i++) g = g * 7 + grid[i][j];
  printf("%ld\n", g);
  memmove(grid[0] + 5, grid[0], sizeof(int) * 1000);
  g = 0;
  for (int i = 0; i < 1400; i++) g += grid[0][i] * (i % 11);
  printf("%ld %d\n", g, memcmp(grid[0] + 5, grid[0], 64) > 0);
  int* big = calloc(300000, sizeof(int));
  for (int i = 0; i < 300000; i += 3) big[i] = i;
  big = realloc(big, sizeof(int) * 700000);
  long t = 0;
  for (int i = 0; i < 300000; i++) t += big[i];
  printf("%ld\n", t);
  free(big);
  free(grid);
  free(buffer);
  free(numbers);
  free(text);
  free(a);
  free(b);
  free(x);
  free(y);
  return 0;
}
