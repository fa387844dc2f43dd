; steps: lower
; The high half of the pointer is the index of the table; no branch. A translation that nobody uses goes.
target triple = "x86_64-pc-linux-gnu"
declare ptr @__freehold_translate(ptr)
; CHECK-LABEL: define i32 @one(
; CHECK-NEXT: [[P:%.*]] = ptrtoint ptr %p to i64
; CHECK-NEXT: [[H:%.*]] = lshr i64 [[P]], 32
; CHECK-NEXT: [[E:%.*]] = getelementptr i64, ptr inttoptr (i64 1048576 to ptr), i64 [[H]]
; CHECK-NEXT: [[W:%.*]] = load i64, ptr [[E]], align 8
; CHECK-NEXT: [[S:%.*]] = add i64 [[P]], [[W]]
; CHECK-NEXT: [[A:%.*]] = inttoptr i64 [[S]] to ptr
; CHECK-NEXT: load i32, ptr [[A]]
; CHECK-NEXT: ret i32
define i32 @one(ptr %p) {
  %a = call ptr @__freehold_translate(ptr %p)
  %v = load i32, ptr %a
  %unused = call ptr @__freehold_translate(ptr %p)
  ret i32 %v
}
