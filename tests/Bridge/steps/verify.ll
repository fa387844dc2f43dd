; steps: verify
; fails: an access was not translated: 'load'
; Nothing was translated: the step finds it.
target triple = "x86_64-pc-linux-gnu"
define i32 @one(ptr %p) {
  %v = load i32, ptr %p
  ret i32 %v
}
