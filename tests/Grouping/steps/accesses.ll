; steps: freehold-accesses
@global = global i64 0
declare void @work(ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

; Two accesses without a call between them are one run: one countdown.
; CHECK-LABEL: define i64 @run
; CHECK: load i64, ptr %p
; CHECK: load i64, ptr %q
; CHECK: sub i64 {{%.*}}, 2
; CHECK: br i1
; CHECK: call preserve_mostcc void @__freehold_profile_access(ptr %p, i64 8)
; CHECK: call preserve_mostcc void @__freehold_profile_access(ptr %q, i64 8)
; CHECK-NOT: __freehold_profile_access
; CHECK: call void @work
; CHECK: store i32 0, ptr %p
; CHECK: sub i64 {{%.*}}, 1
; CHECK: call preserve_mostcc void @__freehold_profile_access(ptr %p, i64 4)
; CHECK: ret i64
define i64 @run(ptr %p, ptr %q) {
  %a = load i64, ptr %p
  %b = load i64, ptr %q
  call void @work(ptr %p)
  store i32 0, ptr %p
  %sum = add i64 %a, %b
  ret i64 %sum
}

; The stack and global variables are not the heap.
; CHECK-LABEL: define i64 @none
; CHECK-NOT: __freehold_profile_access
; CHECK: ret i64
define i64 @none() {
  %local = alloca [4 x i64]
  %inside = getelementptr i64, ptr %local, i64 2
  store i64 1, ptr %inside
  %value = load i64, ptr @global
  ret i64 %value
}

; A copy is an access to both.
; CHECK-LABEL: define void @copy
; CHECK: call void @llvm.memcpy
; CHECK: sub i64 {{%.*}}, 2
; CHECK: @__freehold_profile_access(ptr %p, i64 %n)
; CHECK: @__freehold_profile_access(ptr %q, i64 %n)
define void @copy(ptr %p, ptr %q, i64 %n) {
  call void @llvm.memcpy.p0.p0.i64(ptr %p, ptr %q, i64 %n, i1 false)
  ret void
}

; CHECK: declare preserve_mostcc void @__freehold_profile_access{{.*}} [[BOUND:#[0-9]+]]
; CHECK: attributes [[BOUND]] = {{.*}}nonlazybind
