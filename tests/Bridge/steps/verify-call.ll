; steps: polls
; fails: the address of an object lives across a call
; An address that a call may make stale.
target triple = "x86_64-pc-linux-gnu"
declare ptr @__freehold_translate(ptr)
declare void @unknown()
define i32 @one(ptr %p) {
  %t = call ptr @__freehold_translate(ptr %p)
  call void @unknown()
  %v = load i32, ptr %t
  ret i32 %v
}
