; steps: freehold-frames
source_filename = "steps.c"
declare ptr @malloc(i64)
declare i64 @strlen(ptr)
declare void @work(ptr)
declare i32 @__gxx_personality_v0(...)

; CHECK: c"get>malloc#1\00"
; CHECK: c"get>malloc#2\00"
; CHECK: c"steps.c:hidden>get#1\00"
; CHECK: c"outside>*#1\00"

; The thread is known from the entry on; each allocation has a frame, and behind it the depth is what it was.
; CHECK-LABEL: define ptr @get
; CHECK: [[FRAMES:%.*]] = phi ptr
; CHECK: [[DEPTH:%.*]] = load i64
; CHECK: [[FRAME:%.*]] = getelementptr { ptr, i64 }, ptr [[FRAMES]]
; CHECK: store ptr @freehold.site{{.*}}, ptr [[FRAME]]
; CHECK: [[DEEPER:%.*]] = add i64 [[DEPTH]], 1
; CHECK: store i64 [[DEEPER]]
; CHECK: call ptr @malloc
; CHECK: store i64 [[DEPTH]]
; CHECK: call ptr @malloc
; CHECK: store i64 [[DEPTH]]
define ptr @get(i64 %size) {
  %made = call ptr @malloc(i64 %size)
  %more = call ptr @malloc(i64 %size)
  ret ptr %made
}

define internal ptr @hidden() {
  %made = call ptr @get(i64 16)
  ret ptr %made
}

; What cannot lead to an allocation has no frame, and the caller none for it.
; CHECK-LABEL: define i64 @quiet
; CHECK-NOT: store
; CHECK: ret i64
define i64 @quiet(ptr %p) {
  %length = call i64 @strlen(ptr %p)
  ret i64 %length
}
; CHECK-LABEL: define i64 @calls_quiet
; CHECK-NOT: store
; CHECK: ret i64
define i64 @calls_quiet(ptr %p) {
  %length = call i64 @quiet(ptr %p)
  ret i64 %length
}

; All landing pads restore the depth, a pointer is called with a frame.
; CHECK-LABEL: define void @outside
; CHECK: [[DEPTH:%.*]] = load i64
; CHECK: invoke void %f
; CHECK: store i64 [[DEPTH]]
; CHECK: landingpad
; CHECK-NEXT: cleanup
; CHECK: store i64 [[DEPTH]]
; CHECK: resume
define void @outside(ptr %f, ptr %p) personality ptr @__gxx_personality_v0 {
  invoke void %f(ptr %p) to label %end unwind label %cleanup
end:
  ret void
cleanup:
  %passing = landingpad { ptr, i32 } cleanup
  resume { ptr, i32 } %passing
}

; Behind a guaranteed tail call nothing could be restored.
; CHECK-LABEL: define void @tail
; CHECK: musttail call void @work
; CHECK-NEXT: ret void
define void @tail(ptr %p) {
  musttail call void @work(ptr %p)
  ret void
}
