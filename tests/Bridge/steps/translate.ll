; steps: translate
; Each kind of access gets the address of its pointer; what is no handle gets none.
target triple = "x86_64-pc-linux-gnu"
@global = global i32 0
%pair = type { i64, i64 }
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare <4 x i32> @llvm.masked.load.v4i32.p0(ptr, i32, <4 x i1>, <4 x i32>)
declare <2 x i32> @llvm.masked.gather.v2i32.v2p0(<2 x ptr>, i32, <2 x i1>, <2 x i32>)
declare i64 @strlen(ptr)
declare ptr @strchr(ptr, i32)
declare void @takes(ptr byval(%pair))
declare void @unknown(ptr)

; CHECK-LABEL: define i32 @chain(
; CHECK: [[A:%.*]] = call ptr @__freehold_translate(ptr %p)
; CHECK: [[G:%.*]] = getelementptr inbounds %pair, ptr [[A]], i64 3, i32 1
; CHECK: load i32, ptr [[G]], align 4
define i32 @chain(ptr %p) {
  %g = getelementptr inbounds %pair, ptr %p, i64 3, i32 1
  %v = load i32, ptr %g, align 4
  ret i32 %v
}
; Globals and the frame.
; CHECK-LABEL: define void @raw(
; CHECK-NOT: __freehold_translate
; CHECK: ret void
define void @raw(i32 %v) {
  %a = alloca i32
  store i32 %v, ptr %a
  store i32 %v, ptr @global
  ret void
}
; CHECK-LABEL: define i32 @atomics(
; CHECK: [[A:%.*]] = call ptr @__freehold_translate(ptr %p)
; CHECK: atomicrmw add ptr [[A]]
; CHECK: [[B:%.*]] = call ptr @__freehold_translate(ptr %p)
; CHECK: cmpxchg ptr [[B]], i32 %v
define i32 @atomics(ptr %p, i32 %v) {
  %o = atomicrmw add ptr %p, i32 %v seq_cst
  %c = cmpxchg ptr %p, i32 %v, i32 %o seq_cst seq_cst
  ret i32 %o
}
; A stored pointer is a value.
; CHECK-LABEL: define void @store_pointer(
; CHECK: [[A:%.*]] = call ptr @__freehold_translate(ptr %to)
; CHECK: store ptr %value, ptr [[A]]
define void @store_pointer(ptr %to, ptr %value) {
  store ptr %value, ptr %to
  ret void
}
; CHECK-LABEL: define void @copy(
; CHECK-DAG: [[A:%.*]] = call ptr @__freehold_translate(ptr %a)
; CHECK-DAG: [[B:%.*]] = call ptr @__freehold_translate(ptr %b)
; CHECK: call void @llvm.memcpy.p0.p0.i64(ptr align 16 [[A]], ptr align 16 [[B]], i64 64, i1 false)
define void @copy(ptr %a, ptr %b) {
  call void @llvm.memcpy.p0.p0.i64(ptr align 64 %a, ptr align 32 %b, i64 64, i1 false)
  ret void
}
; CHECK-LABEL: define <4 x i32> @masked(
; CHECK: [[A:%.*]] = call ptr @__freehold_translate(ptr %p)
; CHECK: call <4 x i32> @llvm.masked.load.v4i32.p0(ptr [[A]],
define <4 x i32> @masked(ptr %p, <4 x i1> %m) {
  %v = call <4 x i32> @llvm.masked.load.v4i32.p0(ptr %p, i32 4, <4 x i1> %m, <4 x i32> zeroinitializer)
  ret <4 x i32> %v
}
; Lane by lane.
; CHECK-LABEL: define <2 x i32> @gather(
; CHECK-COUNT-2: call ptr @__freehold_translate(
; CHECK: call <2 x i32> @llvm.masked.gather.v2i32.v2p0(<2 x ptr>
define <2 x i32> @gather(<2 x ptr> %p) {
  %v = call <2 x i32> @llvm.masked.gather.v2i32.v2p0(<2 x ptr> %p, i32 4, <2 x i1> <i1 true, i1 true>, <2 x i32> zeroinitializer)
  ret <2 x i32> %v
}
; CHECK-LABEL: define void @by_value(
; CHECK: [[A:%.*]] = call ptr @__freehold_translate(ptr %p)
; CHECK: call void @takes(ptr byval(%pair) [[A]])
define void @by_value(ptr %p) {
  call void @takes(ptr byval(%pair) %p)
  ret void
}
; CHECK-LABEL: define void @assembly(
; CHECK: [[A:%.*]] = call ptr @__freehold_translate(ptr %p)
; CHECK: call void asm sideeffect "incl $0", "=*m,{{.*}}"(ptr elementtype(i32) [[A]])
define void @assembly(ptr %p) {
  call void asm sideeffect "incl $0", "=*m,~{flags}"(ptr elementtype(i32) %p)
  ret void
}
; Small functions of the C library get addresses; what they return is a handle again. Others get handles.
; CHECK-LABEL: define ptr @leaves(
; CHECK: [[A:%.*]] = call ptr @__freehold_translate(ptr %p)
; CHECK: call i64 @strlen(ptr [[A]])
; CHECK: [[B:%.*]] = call ptr @__freehold_translate(ptr %p)
; CHECK: [[R:%.*]] = call ptr @strchr(ptr [[B]], i32 7)
; CHECK: [[S:%.*]] = select i1 {{.*}}, ptr {{.*}}, ptr [[R]]
; CHECK: call void @unknown(ptr %p)
; CHECK: ret ptr [[S]]
define ptr @leaves(ptr %p) {
  %n = call i64 @strlen(ptr %p)
  %r = call ptr @strchr(ptr %p, i32 7)
  call void @unknown(ptr %p)
  ret ptr %r
}
; The index is a difference of two pointers: the result may be in another object, so it is translated itself.
; CHECK-LABEL: define i32 @moved(
; CHECK: [[G:%.*]] = getelementptr i8, ptr %old
; CHECK: call ptr @__freehold_translate(ptr [[G]])
define i32 @moved(ptr %old, ptr %a, ptr %b) {
  %x = ptrtoint ptr %a to i64
  %y = ptrtoint ptr %b to i64
  %d = sub i64 %x, %y
  %g = getelementptr i8, ptr %old, i64 %d
  %v = load i32, ptr %g
  ret i32 %v
}
; In front of the loop, unless something in it ends translations.
; CHECK-LABEL: define void @hoisted(
; CHECK: entry:
; CHECK: call ptr @__freehold_translate(ptr %p)
; CHECK: loop:
; CHECK-NOT: @__freehold_translate
; CHECK: ret void
define void @hoisted(ptr %p, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %g = getelementptr i32, ptr %p, i64 %i
  store i32 0, ptr %g
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %end
end:
  ret void
}
; CHECK-LABEL: define void @not_hoisted(
; CHECK: loop:
; CHECK: call void @unknown(
; CHECK: call ptr @__freehold_translate(ptr %p)
define void @not_hoisted(ptr %p, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  call void @unknown(ptr null)
  %g = getelementptr i32, ptr %p, i64 %i
  store i32 0, ptr %g
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %end
end:
  ret void
}
