; steps: verify
; Translations, the frame, globals and arithmetic on them pass, and the counts are printed.
; CHECK: 4 accesses verified, 1 translations
target triple = "x86_64-pc-linux-gnu"
declare ptr @__freehold_translate(ptr)
@global = global [4 x i32] zeroinitializer
define i32 @one(ptr %p, i1 %c, i64 %i) {
  %a = alloca i32
  store i32 1, ptr %a
  %t = call ptr @__freehold_translate(ptr %p)
  %g = getelementptr i32, ptr %t, i64 %i
  %q = select i1 %c, ptr %g, ptr %a
  %v = load i32, ptr %q
  %h = getelementptr [4 x i32], ptr @global, i64 0, i64 %i
  store i32 %v, ptr %h
  %w = load i32, ptr %a
  ret i32 %w
}
