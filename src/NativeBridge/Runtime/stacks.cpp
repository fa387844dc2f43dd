// Where the processor itself uses memory: other stacks, code in the heap, and jumps between frames.
//
// longjmp leaves frames without a word, and what it leads to may be code that was not compiled with handles: so it comes through here, whoever calls it.
// The thread goes outside before the jump. A compiled setjmp comes inside by itself (__freehold_returned). A stack is memory that the kernel and the
// processor use: its object stays where it is, and they get its address.
#include "stacks.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <signal.h>
#include <ucontext.h>

#include <atomic>
#include <iterator>

#include "handle_table.h"
#include "runtime.h"
#include "signal_masks.h"
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

constexpr const char* kJumps[] = {"longjmp", "_longjmp", "siglongjmp", "__longjmp_chk"};
std::atomic<Jump> real_jumps[std::size(kJumps)];

Jump real_jump(size_t index) noexcept {
  Jump real = real_jumps[index].load(std::memory_order_relaxed);
  if (real != nullptr) return real;
  real = reinterpret_cast<Jump>(dlsym(RTLD_NEXT, kJumps[index]));
  real_jumps[index].store(real, std::memory_order_relaxed);
  return real;
}

[[noreturn]] void jump(size_t index, const __jmp_buf_tag* there, int value) noexcept {
  // Its object may move as soon as the thread is outside.
  __jmp_buf_tag copy = *there;
  // The mask that comes back has none of them blocked.
  if (copy.__mask_was_saved != 0) signal_masks::remember(0);
  Jump real = real_jump(index);
  threads::forget_handlers();
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

void note_other_stack(const stack_t& stack) noexcept {
  auto low = reinterpret_cast<uintptr_t>(stack.ss_sp);
  threads::current().pins.note_other_stack(low, low + stack.ss_size);
}

template <typename T>
T* address(T* pointer) noexcept {
  return reinterpret_cast<T*>(HandleTable::translate(reinterpret_cast<uint64_t>(pointer)));
}

}  // namespace

#define FREEHOLD_JUMP(name, index)                                                                                                               \
  extern "C" [[noreturn]] __attribute__((visibility("default"))) void jump_by_##name(const __jmp_buf_tag* there, int value) noexcept asm(#name); \
  void jump_by_##name(const __jmp_buf_tag* there, int value) noexcept { jump(index, there, value); }
FREEHOLD_JUMP(longjmp, 0)
FREEHOLD_JUMP(_longjmp, 1)
FREEHOLD_JUMP(siglongjmp, 2)
FREEHOLD_JUMP(__longjmp_chk, 3)
#undef FREEHOLD_JUMP

void freehold::bridge::resolve_jumps() noexcept {
  for (size_t i = 0; i < std::size(kJumps); i++) real_jump(i);
}

extern "C" {

// For compiled code: a library that an uncompiled program has opened would find the C library's.
[[noreturn]] void __freehold_longjmp(const __jmp_buf_tag* there, int value) { jump(0, there, value); }
[[noreturn]] void __freehold_longjmp_chk(const __jmp_buf_tag* there, int value) { jump(3, there, value); }

int __freehold_sigaltstack(const stack_t* wanted, stack_t* before) {
  stack_t copy{}, old{};
  if (wanted != nullptr) {
    copy = *address(wanted);
    copy.ss_sp = address(copy.ss_sp);
  }
  if (sigaltstack(wanted != nullptr ? &copy : nullptr, before != nullptr ? &old : nullptr) != 0) return -1;
  // The thread is inside: nothing has moved.
  if (wanted != nullptr && (copy.ss_flags & SS_DISABLE) == 0) {
    kept(address(wanted)->ss_sp);
    note_other_stack(copy);
  }
  if (before != nullptr) {
    old.ss_sp = __freehold_handle(old.ss_sp);
    *address(before) = old;
  }
  return 0;
}

// What is called, if the program has put code into an object: its address, which stays.
void* __freehold_code(void* callee) { return kept(callee); }

// For a callee that no record can be kept for.
void* __freehold_kept(void* pointer) { return kept(pointer); }

// Around a call of makecontext: `handles` has what the program has put there.
void __freehold_before_makecontext(ucontext_t* context, void** handles) {
  context = address(context);
  handles[0] = context->uc_stack.ss_sp;
  handles[1] = context->uc_link;
  context->uc_stack.ss_sp = kept(context->uc_stack.ss_sp);
  note_other_stack(context->uc_stack);
  context->uc_link = static_cast<ucontext_t*>(kept(context->uc_link));
}
void __freehold_after_makecontext(ucontext_t* context, void** handles) {
  context = address(context);
  context->uc_stack.ss_sp = handles[0];
  context->uc_link = static_cast<ucontext_t*>(handles[1]);
}

}  // extern "C"
