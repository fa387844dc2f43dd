// Where the processor itself uses memory: other stacks, code in the heap, and jumps between frames.
//
// longjmp leaves frames without a word, and what it leads to may be code that was not compiled with handles: so it comes through here, whoever calls it.
// The thread goes outside before the jump. A compiled setjmp comes inside by itself (__freehold_returned). A stack is memory that the kernel and the
// processor use: its object stays where it is, and they get its address.
#include <dlfcn.h>
#include <setjmp.h>
#include <signal.h>
#include <ucontext.h>

#include <atomic>

#include "handle_table.h"
#include "runtime.h"
#include "threads.h"

using namespace freehold::bridge;

namespace {

using Jump = void (*)(__jmp_buf_tag*, int);

// glibc keeps rsp and rip so that they cannot be forged: rotated, and mixed with a word of the thread.
uintptr_t stack_pointer_in(const __jmp_buf_tag& there) noexcept {
  constexpr int kStackPointer = 6, kRotation = 0x11;
  auto value = static_cast<uintptr_t>(there.__jmpbuf[kStackPointer]);
  uintptr_t guard;
  asm("mov %%fs:0x30, %0" : "=r"(guard));
  return (value >> kRotation | value << (64 - kRotation)) ^ guard;
}

[[noreturn]] void jump(const char* name, std::atomic<Jump>& known, const __jmp_buf_tag* there, int value) noexcept {
  // Its object may move as soon as the thread is outside.
  __jmp_buf_tag copy = *there;
  Jump real = known.load(std::memory_order_relaxed);
  if (real == nullptr) {
    real = reinterpret_cast<Jump>(dlsym(RTLD_NEXT, name));
    known.store(real, std::memory_order_relaxed);
  }
  Thread* thread = threads::known();
  if (thread != nullptr && !threads::is_outside(*thread)) threads::leave_frames(*thread, stack_pointer_in(copy));
  real(&copy, value);
  __builtin_unreachable();
}

// What stays where it is.
void* kept(void* pointer) noexcept {
  void* slot;
  return __freehold_keep(pointer, &slot);
}

template <typename T>
T* address(T* pointer) noexcept {
  return reinterpret_cast<T*>(HandleTable::translate(reinterpret_cast<uint64_t>(pointer)));
}

}  // namespace

#define FREEHOLD_JUMP(name)                                                                                                                      \
  extern "C" [[noreturn]] __attribute__((visibility("default"))) void jump_by_##name(const __jmp_buf_tag* there, int value) noexcept asm(#name); \
  void jump_by_##name(const __jmp_buf_tag* there, int value) noexcept {                                                                          \
    static std::atomic<Jump> real{nullptr};                                                                                                      \
    jump(#name, real, there, value);                                                                                                             \
  }
FREEHOLD_JUMP(longjmp)
FREEHOLD_JUMP(_longjmp)
FREEHOLD_JUMP(siglongjmp)
FREEHOLD_JUMP(__longjmp_chk)
#undef FREEHOLD_JUMP

extern "C" {

int __freehold_sigaltstack(const stack_t* wanted, stack_t* before) {
  stack_t copy{}, old{};
  if (wanted != nullptr) {
    copy = *address(wanted);
    if ((copy.ss_flags & SS_DISABLE) == 0) copy.ss_sp = kept(copy.ss_sp);
  }
  if (sigaltstack(wanted != nullptr ? &copy : nullptr, before != nullptr ? &old : nullptr) != 0) return -1;
  if (before != nullptr) {
    old.ss_sp = __freehold_handle(old.ss_sp);
    *address(before) = old;
  }
  return 0;
}

// What is called, if the program has put code into an object: its address, which stays.
void* __freehold_code(void* callee) { return kept(callee); }

// Around a call of makecontext: `handles` has what the program has put there.
void __freehold_before_makecontext(ucontext_t* context, void** handles) {
  context = address(context);
  handles[0] = context->uc_stack.ss_sp;
  handles[1] = context->uc_link;
  context->uc_stack.ss_sp = kept(context->uc_stack.ss_sp);
  context->uc_link = static_cast<ucontext_t*>(kept(context->uc_link));
}
void __freehold_after_makecontext(ucontext_t* context, void** handles) {
  context = address(context);
  context->uc_stack.ss_sp = handles[0];
  context->uc_link = static_cast<ucontext_t*>(handles[1]);
}

}  // extern "C"
