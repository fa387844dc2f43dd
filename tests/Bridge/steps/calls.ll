; steps: calls
; Code that may know no handles is called through a bridge, which looks for the mark; the way out pins, goes outside and comes back.
target triple = "x86_64-pc-linux-gnu"
declare void @unknown(ptr)
declare i64 @strlen(ptr)
declare i64 @read(i32, ptr, i64)
define void @defined(ptr %p) {
  ret void
}
; CHECK-LABEL: define void @one(
; CHECK: call void @freehold.call.unknown.{{[0-9a-f]+}}(ptr %p)
; CHECK: call void @freehold.call.pointer.{{[0-9a-f]+}}(ptr %p, ptr %f)
; CHECK: call i64 @strlen(ptr %p)
; CHECK: call void @defined(ptr %p)
; CHECK: call i64 @freehold.call.read.{{[0-9a-f]+}}(i32 0, ptr %p, i64 8)
define void @one(ptr %p, ptr %f) nounwind {
  call void @unknown(ptr %p)
  call void %f(ptr %p)
  %n = call i64 @strlen(ptr %p)
  call void @defined(ptr %p)
  %m = call i64 @read(i32 0, ptr %p, i64 8)
  ret void
}
; CHECK: define linkonce_odr hidden void @freehold.call.unknown.{{[0-9a-f]+}}(ptr %0)
; CHECK: load i32, ptr getelementptr inbounds (i8, ptr @unknown, i64 4), align 1
; CHECK: icmp eq i32 {{.*}}, 1145849926
; CHECK: tail call void @unknown(ptr %0)
; CHECK: tail call void @freehold.outside.[[KEEP:[0-9a-f]+]](ptr %0, ptr @unknown)
; Of a function that nobody knows, what is passed stays in place for good; of read, for the call.
; CHECK: define linkonce_odr hidden void @freehold.outside.[[KEEP]](ptr %0, ptr %1)
; CHECK: call ptr @__freehold_keep(ptr %0,
; What is called may lie in the heap.
; CHECK: call ptr @__freehold_code(ptr %1)
; CHECK: [[CALLEE:%[0-9]+]] = phi ptr [ %1,
; CHECK: call void @__freehold_call_out(
; CHECK: call void [[CALLEE]](ptr
; CHECK: call void @__freehold_call_back(
; CHECK: define linkonce_odr hidden i64 @freehold.outside.{{[0-9a-f]+}}(i32 %0, ptr %1, i64 %2, ptr %3)
; CHECK: call ptr @__freehold_pin(ptr %1,
