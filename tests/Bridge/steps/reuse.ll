; steps: reuse
; The unlikely path makes the translation again, the others meet it in a phi.
target triple = "x86_64-pc-linux-gnu"
declare ptr @__freehold_translate(ptr)
declare void @unknown()
; CHECK-LABEL: define void @side(
; CHECK: entry:
; CHECK-NEXT: [[A:%.*]] = call ptr @__freehold_translate(ptr %p)
; CHECK: loop:
; CHECK-NEXT: [[X:%.*]] = phi ptr [ [[A]], %entry ], [ [[Y:%.*]], %meet ]
; CHECK: store i32 1, ptr [[X]]
; CHECK: rare:
; CHECK-NEXT: call void @unknown()
; CHECK-NEXT: [[B:%.*]] = call ptr @__freehold_translate(ptr %p)
; CHECK: meet:
; CHECK-NEXT: [[Y]] = phi ptr [ [[B]], %rare ], [ [[X]], %loop ]
; CHECK-NOT: @__freehold_translate
; CHECK: ret void
define void @side(ptr %p, i64 %n) {
entry:
  %first = call ptr @__freehold_translate(ptr %p)
  store i32 0, ptr %first
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %meet ]
  %a = call ptr @__freehold_translate(ptr %p)
  store i32 1, ptr %a
  %c = icmp eq i64 %i, 77
  br i1 %c, label %rare, label %meet, !prof !0
rare:
  call void @unknown()
  br label %meet
meet:
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %end
end:
  ret void
}
; The call is as likely as not, and there is one use: nothing changes.
; CHECK-LABEL: define void @even(
; CHECK: loop:
; CHECK: call ptr @__freehold_translate(ptr %p)
; CHECK: some:
; CHECK-NEXT: call void @unknown()
; CHECK-NEXT: br label
define void @even(ptr %p, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ], [ %next, %some ]
  %a = call ptr @__freehold_translate(ptr %p)
  store i32 1, ptr %a
  %next = add i64 %i, 1
  %c = icmp ult i64 %next, %n
  br i1 %c, label %some, label %loop, !prof !1
some:
  call void @unknown()
  br label %loop
}
!0 = !{!"branch_weights", i32 1, i32 2000}
!1 = !{!"branch_weights", i32 2000, i32 1}
