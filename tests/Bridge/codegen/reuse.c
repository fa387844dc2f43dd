// A translation that only some paths have to make again.
void other(void);

// The call is unlikely: the loop has no translation but the one behind the call, which meets the one from in front of the loop in a phi.
// CHECK-LABEL: define internal {{.*}} @sum.body(
// CHECK-COUNT-1: lshr i64
// CHECK: [[LOOP:[0-9]+]]:
// CHECK: phi ptr
// CHECK: load i32
// CHECK: call void @freehold.call.other
// CHECK-NEXT: ptrtoint
// CHECK-NEXT: lshr i64
// CHECK-NOT: lshr i64
// The poll passes the argument itself: no phi of handles beside that of addresses.
// CHECK: call preserve_mostcc void @__freehold_poll_1(ptr %0)
int sum(const int* numbers, int count) {
  int total = 0;
  for (int i = 0; i < count; i++) {
    if (__builtin_expect(numbers[i] == 7, 0)) other();
    total += numbers[i];
  }
  return total;
}

// A pointer that runs along, in a loop with a call on a side path: an address runs beside it, made again behind the call only.
// CHECK-LABEL: define internal {{.*}} @run.body(
// CHECK-COUNT-1: lshr i64
// CHECK: [[HEAD:[0-9]+]]:
// CHECK: phi ptr
// CHECK: phi ptr
// CHECK: load i8
// CHECK: call void @freehold.call.other
// CHECK: lshr i64
// CHECK-NOT: lshr i64
// CHECK: ret
int run(const unsigned char* code) {
  int a = 0;
  for (;;) {
    unsigned char c = *code++;
    if (c == 0) return a;
    if (__builtin_expect(c == 1, 0)) other();
    else if (c < 100) a = a * 3 + c;
    else code += c & 3;
  }
}

// The call is on every path: nothing is gained, two translations.
// CHECK-LABEL: define internal {{.*}} @each.body(
// CHECK: lshr i64
// CHECK: call void @freehold.call.other
// CHECK: lshr i64
// CHECK-NOT: lshr i64
// CHECK: ret
int each(const int* numbers, int count) {
  int total = 0;
  for (int i = 0; i < count; i++) {
    total += numbers[i];
    other();
    total ^= numbers[i + 1];
  }
  return total;
}
