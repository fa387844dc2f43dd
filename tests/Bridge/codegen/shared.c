// What lies between caller and callee is made once for each type, not for each function.
#include <stddef.h>

int one(void*, int);
int two(void*, int);
long three(void*, int);
int visit(int (*callback)(void*, int), void* context) { return one(context, 1) + two(context, 2) + callback(context, 3); }
long other(void* context) { return three(context, 3); }

// The bridges of both, and of calls through pointers of that type, take one way out; that of another result is another.
// CHECK-DAG: tail call i32 @freehold.outside.[[INT:[0-9a-f]+]](ptr %0, i32 %1, ptr @one)
// CHECK-DAG: tail call i32 @freehold.outside.[[INT]](ptr %0, i32 %1, ptr @two)
// CHECK-DAG: tail call i32 @freehold.outside.[[INT]](ptr %0, i32 %1, ptr %2)
// CHECK-DAG: tail call i64 @freehold.outside.[[LONG:[0-9a-f]+]](ptr %0, i32 %1, ptr @three)

// So is what comes inside: the entries of both hand on to one.
int first(char* text) { return text[0]; }
int second(char* text) { return text[1]; }
// CHECK-DAG: tail call i32 @freehold.enter.[[ENTER:[0-9A-F]+]](ptr %0, ptr @first.body)
// CHECK-DAG: tail call i32 @freehold.enter.[[ENTER]](ptr %0, ptr @second.body)
