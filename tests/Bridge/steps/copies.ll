; steps: calls
; A structure that the call copies is copied before the thread is outside: the object that it is in may move then.
target triple = "x86_64-pc-linux-gnu"
%block = type { [8 x i64] }
declare i64 @takes(ptr byval(%block) align 8)
; CHECK: define linkonce_odr hidden i64 @freehold.outside.{{[0-9a-f]+}}(ptr %0, ptr %1)
; The copy's memory is in the entry block, with that of the record: behind a branch it would take new stack at each call that is inlined into a loop.
; CHECK-NEXT: [[COPY:%.*]] = alloca %block
; CHECK-NEXT: alloca [1 x i64]
; CHECK-NOT: alloca
; CHECK: [[CALLEE:%.*]] = phi ptr [ %1, {{.*}} ], [ {{.*}} ]
; CHECK-NOT: alloca
; CHECK: call void @llvm.memcpy.p0.p0.i64(ptr align 8 [[COPY]], ptr align 1 %0, i64 64, i1 false)
; CHECK: call void @__freehold_call_out(
; CHECK: call i64 [[CALLEE]](ptr byval(%block) align 8 [[COPY]])
define i64 @one(ptr %p) nounwind {
  %r = call i64 @takes(ptr byval(%block) align 8 %p)
  ret i64 %r
}
