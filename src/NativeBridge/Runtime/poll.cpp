// What a poll of compiled code calls when the stop word is set: __freehold_poll_N with N handles whose objects stay in place meanwhile. They are arguments
// in registers, and LLVM's convention preserve_most keeps all general registers but r11: so the slow path takes few bytes in the loop's function, and its
// registers are none of the loop's concern. The pushed arguments are the record; what is in the registers behind the Nth does no harm there.
#include <stddef.h>

#include "runtime.h"

using freehold::bridge::PinRecord;

static_assert(offsetof(PinRecord, count) == 0 && sizeof(PinRecord) == 8);

asm(R"(
  .macro push_arguments
  push %r9
  push %r8
  push %rcx
  push %rdx
  push %rsi
  push %rdi
  .endm
  .macro pop_arguments
  pop %rdi
  pop %rsi
  pop %rdx
  pop %rcx
  pop %r8
  pop %r9
  .endm
  .text
  .p2align 4
  .irp n, 0, 1, 2, 3, 4, 5, 6
  .globl __freehold_poll_\n
  .type __freehold_poll_\n, @function
  .endr
  .irp n, 0, 1, 2, 3, 4, 5, 6
__freehold_poll_\n:
  .endr
  .cfi_startproc
  push_arguments
  push $6
  .cfi_adjust_cfa_offset 56
  mov %rsp, %rdi
  push %rax
  push %r10
  .cfi_adjust_cfa_offset 16
  call __freehold_poll@PLT
  pop %r10
  pop %rax
  add $8, %rsp
  .cfi_adjust_cfa_offset -24
  pop_arguments
  .cfi_adjust_cfa_offset -48
  ret
  .cfi_endproc
  .irp n, 0, 1, 2, 3, 4, 5, 6
  .size __freehold_poll_\n, . - __freehold_poll_\n
  .endr

  .globl __freehold_poll_more
  .type __freehold_poll_more, @function
__freehold_poll_more:
  .cfi_startproc
  push_arguments
  push %rax
  push %r10
  .cfi_adjust_cfa_offset 64
  sub $8, %rsp
  .cfi_adjust_cfa_offset 8
  call __freehold_poll@PLT
  add $8, %rsp
  pop %r10
  pop %rax
  pop_arguments
  .cfi_adjust_cfa_offset -72
  ret
  .cfi_endproc
  .size __freehold_poll_more, . - __freehold_poll_more
  .purgem push_arguments
  .purgem pop_arguments
)");
