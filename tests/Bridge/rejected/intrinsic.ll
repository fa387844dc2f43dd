; the intrinsic 'llvm.gcread' has no translation
define ptr @read(ptr %object, ptr %field) gc "shadow-stack" {
  %value = call ptr @llvm.gcread(ptr %object, ptr %field)
  ret ptr %value
}
declare ptr @llvm.gcread(ptr, ptr)
