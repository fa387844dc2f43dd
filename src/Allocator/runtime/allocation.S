// The runtime's allocation helpers of compiled code: a thread moves the pointer of its allocation context, and when that meets its limit, moves the
// limit within its chunk (freehold_extend). Only what needs a new chunk, or memory of its own, takes the runtime's way, with a frame that a stack
// walk knows. The linker's --wrap sends callers here.
//
// Between entry and return there is no managed frame but the caller's, and the thread is in cooperative mode: freehold_extend does not block.
// Only registers that the C calling convention lets a callee destroy are used.
#include "runtime/functions.h"

#include <layout.h>

// A wrapper is named after what it wraps, and that differs between versions.
#define JOIN(a, b) a##b
#define WRAP(symbol) JOIN(__wrap_, symbol)
#define REAL(symbol) JOIN(__real_, symbol)

    .intel_syntax noprefix
    .text

    .set kContext, FREEHOLD_THREAD_ALLOCATION  // AllocationContext in tls_CurrentThread
    .set kPointer, kContext
    .set kLimit, kContext + 8
    .set kBaseSize, 4        // MethodTable
    .set kLength, 8          // arrays and strings
    .set kLongestString, 0x3fffffdf
    .set kLongestArray, 0x7fffffff

.macro SAVE register
    push    \register
    .cfi_adjust_cfa_offset 8
.endm

.macro RESTORE register
    pop     \register
    .cfi_adjust_cfa_offset -8
.endm

// rdi = type of an object without elements or finalizer.
FUNCTION __wrap_RhpNewFast
    mov     rcx, qword ptr tls_CurrentThread@gottpoff[rip]
    mov     edx, dword ptr [rdi + kBaseSize]
    mov     rax, qword ptr fs:[rcx + kPointer]
    add     rdx, rax
    cmp     rdx, qword ptr fs:[rcx + kLimit]
    ja      1f
    mov     qword ptr fs:[rcx + kPointer], rdx
    mov     qword ptr [rax], rdi
    ret
1:  SAVE    rdi
    mov     esi, dword ptr [rdi + kBaseSize]
    mov     rdi, qword ptr fs:0
    lea     rdi, [rdi + rcx + kContext]
    call    freehold_extend
    RESTORE rdi
    test    al, al
    jnz     __wrap_RhpNewFast
    xor     esi, esi         // no flags
    jmp     RhpNewObject
END_FUNCTION __wrap_RhpNewFast

// rdi = type, rsi = length, rax = size.
.macro ALLOCATE_ELEMENTS again
    mov     rcx, qword ptr tls_CurrentThread@gottpoff[rip]
    mov     rdx, qword ptr fs:[rcx + kPointer]
    add     rax, rdx
    cmp     rax, qword ptr fs:[rcx + kLimit]
    ja      1f
    mov     qword ptr fs:[rcx + kPointer], rax
    mov     dword ptr [rdx + kLength], esi
    mov     qword ptr [rdx], rdi          // last: a walk that sees the type sees the length
    mov     rax, rdx
    ret
1:  SAVE    rdi
    SAVE    rsi
    SAVE    rsi              // for the stack's alignment
    sub     rax, rdx
    mov     rsi, rax
    mov     rdi, qword ptr fs:0
    lea     rdi, [rdi + rcx + kContext]
    call    freehold_extend
    RESTORE rsi
    RESTORE rsi
    RESTORE rdi
    test    al, al
    jnz     \again
    jmp     FREEHOLD_LENGTH_SLOW_PATH
.endm

// rdi = type, rsi = length. A string's base size is 22: header, type, length and the zero at the end; up to a multiple of 8.
FUNCTION __wrap_RhNewString
    cmp     rsi, kLongestString
    ja      2f
    lea     rax, [2 * rsi + 22 + 7]
    and     rax, -8
    ALLOCATE_ELEMENTS __wrap_RhNewString
2:  jmp     __real_RhNewString
END_FUNCTION __wrap_RhNewString

// rdi = type, its first half-word the size of an element; rsi = length.
#ifdef FREEHOLD_POINTER_ARRAY_FAST_PATH
FUNCTION WRAP(FREEHOLD_POINTER_ARRAY_FAST_PATH)
    jmp     WRAP(FREEHOLD_ARRAY_FAST_PATH)
END_FUNCTION WRAP(FREEHOLD_POINTER_ARRAY_FAST_PATH)
#endif
FUNCTION WRAP(FREEHOLD_ARRAY_FAST_PATH)
    cmp     rsi, kLongestArray
    ja      2f
    movzx   eax, word ptr [rdi]
    mov     edx, dword ptr [rdi + kBaseSize]
    imul    rax, rsi
    lea     rax, [rax + rdx + 7]
    and     rax, -8
    ALLOCATE_ELEMENTS WRAP(FREEHOLD_ARRAY_FAST_PATH)
2:  jmp     REAL(FREEHOLD_ARRAY_FAST_PATH)
END_FUNCTION WRAP(FREEHOLD_ARRAY_FAST_PATH)

    .section .note.GNU-stack, "", @progbits
