; steps: entries
; A function that others can reach has an entry under its name; within the file calls go past it.
target triple = "x86_64-pc-linux-gnu"
%pair = type { i64, i64, i64 }
; CHECK-LABEL: define internal i32 @hidden(
; CHECK: call i32 @shown.body(ptr %p)
; CHECK-LABEL: define i32 @shown(
; CHECK-SAME: prologue i64 4921387958302678799
; CHECK: load atomic i64, ptr
; CHECK: musttail call i32 @shown.body(ptr %0)
; CHECK: tail call i32 @freehold.enter.[[TYPE:[0-9A-F]+]](ptr %0, ptr @shown.body)
; What comes inside serves all entries of a type: addresses become handles, and the thread goes outside again.
; CHECK: define linkonce_odr hidden i32 @freehold.enter.[[TYPE]](ptr %0, ptr %1)
; CHECK: call i32 @__freehold_enter_compiled()
; CHECK: [[H:%.*]] = call ptr @__freehold_handle(ptr %0)
; CHECK: call i32 %1(ptr [[H]])
; CHECK: call void @__freehold_leave_compiled()
; CHECK-LABEL: define i32 @caller(
; CHECK: tail call i32 @freehold.enter.[[TYPE]](ptr %0, ptr @caller.body)
define i32 @shown(ptr %p) nounwind {
  ret i32 1
}
define internal i32 @hidden(ptr %p) nounwind {
  %v = call i32 @shown(ptr %p)
  ret i32 %v
}
define i32 @caller(ptr %p) nounwind {
  %v = call i32 @hidden(ptr %p)
  ret i32 %v
}
; A structure on the stack: no guaranteed tail call, which would overwrite the return address.
; CHECK-LABEL: define i64 @copied(ptr byval(%pair) %0)
; CHECK-NOT: musttail
; CHECK: tail call i64 @copied.body(ptr byval(%pair) %0)
; CHECK: tail call i64 @freehold.enter
define i64 @copied(ptr byval(%pair) %p) nounwind {
  %v = load i64, ptr %p
  ret i64 %v
}
