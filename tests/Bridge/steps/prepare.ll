; steps: prepare
; Calls of malloc and free become the runtime's; a function that hands on malloc's address keeps the C library's. What LLVM has found out goes.
target triple = "x86_64-pc-linux-gnu"
declare noalias ptr @malloc(i64) allockind("alloc,uninitialized") allocsize(0) memory(inaccessiblemem: readwrite) "alloc-family"="malloc"
declare void @free(ptr) allockind("free") "alloc-family"="malloc"
; CHECK: declare i64 @pure(ptr){{$}}
declare i64 @pure(ptr) memory(argmem: read)

; CHECK-LABEL: define ptr @make(
; CHECK: call ptr @__freehold_malloc(i64 24)
define ptr @make() {
  %p = call ptr @malloc(i64 24)
  ret ptr %p
}
; CHECK-LABEL: define ptr @hand_on(
; CHECK: ret ptr @malloc
define ptr @hand_on() {
  ret ptr @malloc
}
; CHECK-LABEL: define void @drop(
; CHECK: call void @__freehold_free(ptr %p)
define void @drop(ptr %p) {
  call void @free(ptr %p)
  ret void
}
; A callee that only reads may be stopped in, too.
; CHECK-LABEL: define i64 @ask(
; CHECK: call i64 @pure(ptr %p){{$}}
define i64 @ask(ptr %p) {
  %n = call i64 @pure(ptr %p) memory(argmem: read)
  ret i64 %n
}
