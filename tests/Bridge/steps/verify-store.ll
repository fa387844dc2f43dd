; steps: verify
; fails: an access was not translated: 'store'
; The address of one path is translated, that of the other is not.
target triple = "x86_64-pc-linux-gnu"
declare ptr @__freehold_translate(ptr)
define void @one(ptr %p, i1 %c) {
entry:
  br i1 %c, label %a, label %b
a:
  %t = call ptr @__freehold_translate(ptr %p)
  br label %b
b:
  %q = phi ptr [ %t, %a ], [ %p, %entry ]
  store i32 0, ptr %q
  ret void
}
