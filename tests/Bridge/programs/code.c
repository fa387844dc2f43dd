// Programs that make code at run time, in memory of the heap: a handle is called, and passed on to be called.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

// mov (%rdi),%eax; sub (%rsi),%eax; ret
static const unsigned char compare_code[] = {0x8b, 0x07, 0x2b, 0x06, 0xc3};
// lea (%rdi,%rsi,4),%rax; ret
static const unsigned char sum_code[] = {0x48, 0x8d, 0x04, 0xb7, 0xc3};
// push %rbx; mov %rdi,%rbx; mov %rdx,%rdi; call *%rsi; add %rbx,%rax; pop %rbx; ret: calls back
static const unsigned char call_code[] = {0x53, 0x48, 0x89, 0xfb, 0x48, 0x89, 0xd7, 0xff, 0xd6, 0x48, 0x01, 0xd8, 0x5b, 0xc3};

typedef long Sum(long, long);
typedef int Compare(const void*, const void*);
typedef long Call(long, long (*)(char*), char*);

static long back(char* text) {
  char* copy = strdup(text);
  long length = (long)strlen(copy);
  free(copy);
  return length;
}

int main(void) {
  size_t size = 3 * 4096;
  unsigned char* page = aligned_alloc(4096, size);
  memcpy(page, sum_code, sizeof sum_code);
  memcpy(page + 64, compare_code, sizeof compare_code);
  memcpy(page + 4096, call_code, sizeof call_code);
  if (mprotect(page, size, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) return 1;
  Sum* sum = (Sum*)page;
  long total = 0;
  for (long i = 0; i < 50; i++) total = sum(total % 1000, i);
  int* numbers = malloc(100 * sizeof(int));
  for (int i = 0; i < 100; i++) numbers[i] = i * 37 % 101;
  qsort(numbers, 100, sizeof(int), (Compare*)(page + 64));
  int sorted = 1;
  for (int i = 1; i < 100; i++) sorted &= numbers[i - 1] <= numbers[i];
  printf("%ld %d %d\n", total, sorted, numbers[50]);
  char* text = strdup("some text");
  Call* call = (Call*)(page + 4096);
  long answers = 0;
  for (long i = 0; i < 20; i++) answers += call(i, back, text);
  printf("%ld %d\n", answers, ((Compare*)(page + 64))(numbers + 3, numbers + 1));
  mprotect(page, size, PROT_READ | PROT_WRITE);
  free(page);
  free(numbers);
  free(text);
  return 0;
}
