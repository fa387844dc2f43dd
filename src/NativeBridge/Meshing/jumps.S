// setjmp, getcontext and their like save the mask of signals by a system call that writes into the caller's buffer. They return into the frame that has called them, perhaps twice: so no frame of ours
// may lie in between. What is needed is done before (freehold_mesh_before_jump), and the C library's function runs in its caller's frame.
#include <cet.h>

.macro JUMP name, which, saves
  .globl \name
  .type \name, @function
\name:
  .cfi_startproc
  _CET_ENDBR
  push %rdi
  .cfi_adjust_cfa_offset 8
  push %rsi
  .cfi_adjust_cfa_offset 8
  sub $8, %rsp
  .cfi_adjust_cfa_offset 8
  mov \saves, %edx
  mov $\which, %esi
  call freehold_mesh_before_jump
  add $8, %rsp
  .cfi_adjust_cfa_offset -8
  pop %rsi
  .cfi_adjust_cfa_offset -8
  pop %rdi
  .cfi_adjust_cfa_offset -8
  jmp *%rax
  .cfi_endproc
  .size \name, . - \name
.endm

  .text
JUMP __sigsetjmp, 0, %esi
JUMP setjmp, 1, $1
JUMP getcontext, 2, $1
JUMP swapcontext, 3, $1

  .section .note.GNU-stack, "", @progbits
