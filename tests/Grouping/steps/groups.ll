; steps: freehold-groups
source_filename = "steps.c"
declare ptr @malloc(i64)
declare void @work(ptr)
declare i32 @setjmp(ptr) returns_twice
declare i32 @__gxx_personality_v0(...)

; The marked call has its bit while it runs.
; CHECK-LABEL: define void @marked
; CHECK: [[WORD:%.*]] = call {{.*}}ptr @llvm.threadlocal.address.p0(ptr {{.*}}@__freehold_group_state)
; CHECK: [[BEFORE:%.*]] = load i64, ptr [[WORD]]
; CHECK: [[MARKED:%.*]] = or i64 [[BEFORE]], 8
; CHECK: store i64 [[MARKED]]
; CHECK: call ptr @get(i64 16)
; CHECK: store i64 [[BEFORE]]
; CHECK: call void @work
; CHECK-NOT: store
; CHECK: ret void
define void @marked() {
  %made = call ptr @get(i64 16)
  call void @work(ptr %made)
  ret void
}

; The allocation compares the bits: group 1 with bit 3, group 2 with none. LLVM is not to know what malloc looks at.
; CHECK-LABEL: define ptr @get
; CHECK: [[BEFORE:%.*]] = load i64
; CHECK: [[BITS:%.*]] = and i64 [[BEFORE]], 8
; CHECK: [[FITS:%.*]] = icmp eq i64 [[BITS]], 8
; CHECK: [[GROUP:%.*]] = select i1 [[FITS]], i64 72057594037927936, i64 144115188075855872
; CHECK: [[STATE:%.*]] = or i64 {{.*}}, [[GROUP]]
; CHECK: store i64 [[STATE]]
; CHECK: call ptr @malloc(i64 %size) [[NO:#[0-9]+]]
; CHECK: store i64 [[BEFORE]]
define ptr @get(i64 %size) {
  %made = call ptr @malloc(i64 %size)
  ret ptr %made
}

; A handler finds the word of the entry; a cleanup does not look at it.
; CHECK-LABEL: define void @catches
; CHECK: [[ENTERED:%.*]] = load i64
; CHECK: invoke void @work
; CHECK: landingpad
; CHECK-NEXT: catch
; CHECK: store i64 [[ENTERED]]
; CHECK: landingpad
; CHECK-NEXT: cleanup
; CHECK-NOT: store
; CHECK: resume
define void @catches(ptr %p) personality ptr @__gxx_personality_v0 {
entry:
  invoke void @work(ptr %p) to label %next unwind label %handler
next:
  invoke void @work(ptr %p) to label %end unwind label %cleanup
end:
  ret void
handler:
  %caught = landingpad { ptr, i32 } catch ptr null
  ret void
cleanup:
  %passing = landingpad { ptr, i32 } cleanup
  resume { ptr, i32 } %passing
}

; So does a second return.
; CHECK-LABEL: define i32 @returns
; CHECK: [[ENTERED:%.*]] = load i64
; CHECK: call i32 @setjmp
; CHECK: store i64 [[ENTERED]]
define i32 @returns(ptr %p) {
  %result = call i32 @setjmp(ptr %p) returns_twice
  ret i32 %result
}

; Its calls are others than when the profile was taken: nothing is marked.
; CHECK-LABEL: define void @changed
; CHECK-NOT: __freehold_group_state
; CHECK: ret void
define void @changed(ptr %p) {
  call void @work(ptr %p)
  call void @work(ptr %p)
  ret void
}

; CHECK: attributes [[NO]] = {{.*}}nobuiltin
