// Translations are hoisted before the vectoriser, and a loop's poll names what it has translated.
#include <stddef.h>

// CHECK-LABEL: define internal {{.*}} @sum.body(
// One translation in front of the loop; the loop itself works on vectors, and has none.
// No branch chooses between handles and addresses.
// CHECK-NOT: icmp slt i64
// CHECK: lshr i64
// CHECK: {{load <[0-9]+ x i32>}}
// CHECK-NOT: lshr i64
// The poll's slow path passes the handle, which is the argument itself, and changes no register.
// CHECK: call preserve_mostcc void @__freehold_poll_1(ptr %0)
int sum(const int* numbers, size_t count) {
  int total = 0;
  for (size_t i = 0; i < count; i++) total += numbers[i];
  return total;
}

// A pointer that runs along its object has one translation.
// CHECK-LABEL: define internal {{.*}} @length.body(
// CHECK-COUNT-1: lshr i64
// CHECK-NOT: lshr i64
// CHECK: ret
int length(const char* text) {
  int n = 0;
  while (*text++ != 'x') n++;
  return n;
}

// An address does not live across a call: two translations.
void other(void);
// CHECK-LABEL: define internal {{.*}} @twice.body(
// CHECK: lshr i64
// CHECK: call void @freehold.call.other
// CHECK: lshr i64
// CHECK: ret
int twice(int* at) {
  *at += 1;
  other();
  return *at;
}

// A local variable needs none.
// CHECK-LABEL: define internal {{.*}} @local.body(
// CHECK-NOT: lshr i64
// CHECK: ret
int local(int n) {
  volatile int numbers[4] = {n, n, n, n};
  return numbers[n & 3];
}

// No access claims more than the heap promises.
typedef float wide __attribute__((vector_size(32)));
// CHECK-LABEL: define internal {{.*}} @aligned.body(
// CHECK-NOT: align 32
// CHECK: ret
void aligned(wide* to, const wide* from) { *to = *from + *from; }

// The entries: the mark, and a jump to the body.
// CHECK-LABEL: define {{.*}}i32 @sum({{.*}}) {{.*}}prologue i64 4921387958302678799
// CHECK: musttail call i32 @sum.body(
