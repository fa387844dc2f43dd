#include "steps.h"

int plain_is_self(struct cell** cells, int i) {
  char equal;
  __asm__ volatile("mov %1, %%rax; cmp %%rax, (%%rax); sete %0" : "=q"(equal) : "r"(cells[i]) : "rax", "cc", "memory");
  return equal;
}
void plain_store(struct cell** cells, int i) { __asm__ volatile("mov %0, %%rdi; mov %%rdi, (%%rdi)" : : "r"(cells[i]) : "rdi", "memory"); }
struct cell* plain_exchange(struct cell** cells, int i) {
  struct cell* old;
  __asm__ volatile("mov %1, %%r12; xchg %%r12, (%%r12); mov %%r12, %0" : "=r"(old) : "r"(cells[i]) : "r12", "memory");
  return old;
}
struct cell* plain_compare_exchange(struct cell** cells, int i, struct cell* wanted) {
  // What is wanted may be an address here: it comes from memory.
  struct cell* next = cells[(i + 1) % 8];
  struct cell* old;
  __asm__ volatile("mov %1, %%rax; lock cmpxchg %2, 8(%%rax); mov %%rax, %0" : "=r"(old) : "r"(cells[i]), "r"(next) : "rax", "cc", "memory");
  return wanted != 0 ? old : 0;
}
// A long displacement and a base that needs a SIB byte.
struct cell* plain_far(struct cell** cells, int i) {
  struct cell* self;
  __asm__ volatile("mov %1, %%r13; mov %%r13, 8(%%r13); mov 8(%%r13), %0" : "=r"(self) : "r"(cells[i]) : "r13", "memory");
  return self;
}
struct cell* plain_indexed(struct cell** cells, int i) {
  struct cell* self;
  __asm__ volatile("mov %1, %%rsi; xor %%ecx, %%ecx; mov %%rsi, (%%rcx, %%rsi); mov (%%rsi), %0" : "=r"(self) : "r"(cells[i]) : "rcx", "rsi", "memory");
  return self;
}
struct cell* plain_load(struct cell** cells, int i) {
  struct cell* self;
  __asm__ volatile("mov %1, %%rbx; mov (%%rbx), %%rbx; mov %%rbx, %0" : "=r"(self) : "r"(cells[i]) : "rbx", "memory");
  return self;
}
// The bytes of the immediate come behind the operand.
int plain_reset(struct cell** cells, int i) {
  long product;
  __asm__ volatile("mov %1, %%rdx; movq $2, 16(%%rdx); imul $4, 16(%%rdx), %%rdx; mov %%rdx, %0" : "=r"(product) : "r"(cells[i]) : "rdx", "memory");
  return (int)product;
}
