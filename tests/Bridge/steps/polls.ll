; steps: polls
; The end of a loop tests the stop word. What the loop has translated is named on the slow path only.
target triple = "x86_64-pc-linux-gnu"
declare ptr @__freehold_translate(ptr)

; CHECK-LABEL: define void @fill(
; CHECK: entry:
; CHECK-NEXT: call ptr @__freehold_translate(ptr %p)
; CHECK: loop:
; CHECK: store i32
; CHECK: [[W:%.*]] = load atomic i32, ptr {{.*}} monotonic
; CHECK: [[S:%.*]] = icmp ne i32 [[W]], 0
; CHECK: br i1 [[S]], label %[[SLOW:.*]], label
; CHECK: [[SLOW]]:
; CHECK-NEXT: call preserve_mostcc void @__freehold_poll_1(ptr %p)
define void @fill(ptr %p, i64 %n) {
entry:
  %a = call ptr @__freehold_translate(ptr %p)
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %g = getelementptr i32, ptr %a, i64 %i
  store i32 0, ptr %g
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %end
end:
  ret void
}
; At most 32 rounds: none.
; CHECK-LABEL: define void @short(
; CHECK-NOT: poll
; CHECK: ret void
define void @short(ptr %p) {
entry:
  %a = call ptr @__freehold_translate(ptr %p)
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %g = getelementptr i32, ptr %a, i64 %i
  store i32 0, ptr %g
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, 32
  br i1 %more, label %loop, label %end
end:
  ret void
}
; Two objects that take turns: each address is of the handle that is a phi beside it.
; CHECK-LABEL: define void @turns(
; CHECK: [[HX:%.*]] = phi ptr [ %p, %entry ], [ [[HY:%[a-z]+]],
; CHECK: [[HY]] = phi ptr [ %q, %entry ], [ [[HX]],
; CHECK: call preserve_mostcc void @__freehold_poll_2(ptr [[HX]], ptr [[HY]])
define void @turns(ptr %p, ptr %q, i64 %n) {
entry:
  %a = call ptr @__freehold_translate(ptr %p)
  %b = call ptr @__freehold_translate(ptr %q)
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %hx = phi ptr [ %p, %entry ], [ %hy, %loop ]
  %hy = phi ptr [ %q, %entry ], [ %hx, %loop ]
  %x = phi ptr [ %a, %entry ], [ %y, %loop ]
  %y = phi ptr [ %b, %entry ], [ %x, %loop ]
  store ptr %hx, ptr %x
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %end
end:
  ret void
}
; The same without such phis: they are made.
; CHECK-LABEL: define void @made(
; CHECK: [[M:%.*]] = phi ptr [ %p, %entry ]
; CHECK: call preserve_mostcc void @__freehold_poll_4(
define void @made(ptr %p, ptr %q, i64 %n) {
entry:
  %a = call ptr @__freehold_translate(ptr %p)
  %b = call ptr @__freehold_translate(ptr %q)
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %x = phi ptr [ %a, %entry ], [ %y, %loop ]
  %y = phi ptr [ %b, %entry ], [ %x, %loop ]
  store i32 0, ptr %x
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %end
end:
  ret void
}
; A function that calls itself looks at its start.
; CHECK-LABEL: define void @deep(
; CHECK: load atomic i32
; CHECK: call preserve_mostcc void @__freehold_poll_0()
define void @deep(i32 %n) {
  %d = icmp eq i32 %n, 0
  br i1 %d, label %end, label %on
on:
  %m = sub i32 %n, 1
  call void @deep(i32 %m)
  call void @deep(i32 %m)
  br label %end
end:
  ret void
}
; Also one with any number of arguments, which has no entry to look for it.
; CHECK-LABEL: define internal void @more(
; CHECK: load atomic i32
; CHECK: call preserve_mostcc void @__freehold_poll_0()
define internal void @more(i32 %n, ...) {
  %d = icmp eq i32 %n, 0
  br i1 %d, label %end, label %on
on:
  %m = sub i32 %n, 1
  call void (i32, ...) @more(i32 %m, i32 1)
  call void (i32, ...) @more(i32 %m, i32 2)
  br label %end
end:
  ret void
}
