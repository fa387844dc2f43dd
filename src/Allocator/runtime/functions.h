// For assembly: a function of the C calling convention as far as linkers, debuggers and unwinders see it.
// clang-format off: for the assembler.
.macro FUNCTION name
    .p2align 4
    .globl \name
    .type \name, @function
    .cfi_startproc
\name:
.endm

.macro END_FUNCTION name
    .size \name, . - \name
    .cfi_endproc
.endm
