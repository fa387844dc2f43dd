// Block moves and fills that may meet a page that is gone: what compiled code and CoreLib call on managed memory in cooperative mode.
//
// Invariant: between freehold_frameless_moves_begin and _end every function is frameless: at any fault the return address is at [rsp] and the
// callee-saved registers are the caller's, so the exception can be thrown at the caller. Only registers that the C calling convention lets a
// callee destroy are used. Every access is a base register (the argument, unchanged) plus one index; the exception is `rep movs/stos`.
// So a fault on an object that was promoted can be answered, at any instruction, by making that one register current: nothing else depends on it.
// Only the direction of a move does, which compares both addresses: SAME_NAMES comes before.
// References are moved in naturally aligned 8-byte units or in 16-byte units that are 8-byte aligned, whose halves x86-64 processors do not tear.
#include "runtime/functions.h"

    .intel_syntax noprefix

// From here on the microcoded string instructions are faster, if the processor has ERMS and the blocks do not follow each other too closely.
    .set kStringThreshold, 2048

    .data
    .p2align 2
// 1 when the processor has enhanced rep movsb/stosb; written once by configure_memory_moves, before any managed thread exists.
    .globl freehold_fast_strings
    .hidden freehold_fast_strings
freehold_fast_strings:
    .long 0

    .text

// Both blocks may lie in one object that was promoted, and rdi and rsi be two of its names. Each is read, so that a stale one faults and is made
// current. If that happened to rdi, the object may have moved after rsi was read: once more. Without a change both were names at the same time,
// since a name that rdi had before rsi was read is not one that the object got afterwards.
.macro SAME_NAMES
.Lnames_\@:
    mov     r8, rdi
    movzx   eax, byte ptr [rsi]
    movzx   eax, byte ptr [rdi]
    cmp     r8, rdi
    jne     .Lnames_\@
.endm

    .hidden freehold_barrier
    .hidden freehold_after_move

    .p2align 4
    .globl freehold_frameless_moves_begin
    .hidden freehold_frameless_moves_begin
freehold_frameless_moves_begin:

// void* freehold_memmove(void* destination = rdi, const void* source = rsi, size_t size = rdx)
FUNCTION freehold_memmove
    cmp     rdx, 16
    ja      .Lmove_above_16
    cmp     edx, 8
    jae     .Lmove_8_to_16
    cmp     edx, 4
    jae     .Lmove_4_to_7
    test    edx, edx
    jz      .Lmove_done
    movzx   eax, byte ptr [rsi + rdx - 1]
    cmp     edx, 1
    je      .Lmove_1
    movzx   ecx, word ptr [rsi]
    mov     word ptr [rdi], cx
.Lmove_1:
    mov     byte ptr [rdi + rdx - 1], al
.Lmove_done:
    mov     rax, rdi
    ret

.Lmove_4_to_7:
    mov     eax, dword ptr [rsi]
    mov     ecx, dword ptr [rsi + rdx - 4]
    mov     dword ptr [rdi], eax
    mov     dword ptr [rdi + rdx - 4], ecx
    mov     rax, rdi
    ret

.Lmove_8_to_16:
    mov     rax, qword ptr [rsi]
    mov     rcx, qword ptr [rsi + rdx - 8]
    mov     qword ptr [rdi], rax
    mov     qword ptr [rdi + rdx - 8], rcx
    mov     rax, rdi
    ret

.Lmove_above_16:
    cmp     rdx, 64
    ja      .Lmove_above_64
    movups  xmm0, xmmword ptr [rsi]
    movups  xmm1, xmmword ptr [rsi + rdx - 16]
    cmp     edx, 32
    jbe     .Lmove_17_to_32
    movups  xmm2, xmmword ptr [rsi + 16]
    movups  xmm3, xmmword ptr [rsi + rdx - 32]
    movups  xmmword ptr [rdi + 16], xmm2
    movups  xmmword ptr [rdi + rdx - 32], xmm3
.Lmove_17_to_32:
    movups  xmmword ptr [rdi], xmm0
    movups  xmmword ptr [rdi + rdx - 16], xmm1
    mov     rax, rdi
    ret

.Lmove_above_64:
    SAME_NAMES
    mov     rax, rdi
    sub     rax, rsi                      // destination - source: below size (unsigned) = must run backwards
    cmp     rax, rdx
    jb      .Lmove_backward
    cmp     rdx, kStringThreshold
    jb      .Lmove_forward
    cmp     dword ptr [rip + freehold_fast_strings], 0
    je      .Lmove_forward
    add     rax, 64                       // a destination up to 64 bytes below the source makes the microcode go byte by byte
    cmp     rax, 64
    jbe     .Lmove_forward
    mov     rcx, rdx
    rep movsb
    mov     rax, rdi
    sub     rax, rdx
    ret

// The last 64 bytes are read before the loop overwrites them (the blocks may overlap), and written after it. (The first byte was read before them:
// a null source faults in the first page.)
.Lmove_forward:
    movups  xmm4, xmmword ptr [rsi + rdx - 64]
    movups  xmm5, xmmword ptr [rsi + rdx - 48]
    movups  xmm6, xmmword ptr [rsi + rdx - 32]
    movups  xmm7, xmmword ptr [rsi + rdx - 16]
    lea     r8, [rdx - 64]                // bytes left for the loop: at least 1
    xor     ecx, ecx
    .p2align 4
1:  movups  xmm0, xmmword ptr [rsi + rcx]
    movups  xmm1, xmmword ptr [rsi + rcx + 16]
    movups  xmm2, xmmword ptr [rsi + rcx + 32]
    movups  xmm3, xmmword ptr [rsi + rcx + 48]
    movups  xmmword ptr [rdi + rcx], xmm0
    movups  xmmword ptr [rdi + rcx + 16], xmm1
    movups  xmmword ptr [rdi + rcx + 32], xmm2
    movups  xmmword ptr [rdi + rcx + 48], xmm3
    add     rcx, 64
    cmp     rcx, r8
    jb      1b
    movups  xmmword ptr [rdi + rdx - 64], xmm4
    movups  xmmword ptr [rdi + rdx - 48], xmm5
    movups  xmmword ptr [rdi + rdx - 32], xmm6
    movups  xmmword ptr [rdi + rdx - 16], xmm7
    mov     rax, rdi
    ret

.Lmove_backward:
    test    rax, rax
    jz      .Lmove_same
    movups  xmm4, xmmword ptr [rsi]
    movups  xmm5, xmmword ptr [rsi + 16]
    movups  xmm6, xmmword ptr [rsi + 32]
    movups  xmm7, xmmword ptr [rsi + 48]
    mov     rcx, rdx
    .p2align 4
1:  movups  xmm0, xmmword ptr [rsi + rcx - 16]
    movups  xmm1, xmmword ptr [rsi + rcx - 32]
    movups  xmm2, xmmword ptr [rsi + rcx - 48]
    movups  xmm3, xmmword ptr [rsi + rcx - 64]
    movups  xmmword ptr [rdi + rcx - 16], xmm0
    movups  xmmword ptr [rdi + rcx - 32], xmm1
    movups  xmmword ptr [rdi + rcx - 48], xmm2
    movups  xmmword ptr [rdi + rcx - 64], xmm3
    sub     rcx, 64
    cmp     rcx, 64
    ja      1b
    movups  xmmword ptr [rdi], xmm4
    movups  xmmword ptr [rdi + 16], xmm5
    movups  xmmword ptr [rdi + 32], xmm6
    movups  xmmword ptr [rdi + 48], xmm7
.Lmove_same:
    mov     rax, rdi
    ret
END_FUNCTION freehold_memmove

// void* freehold_memset(void* destination = rdi, int value = esi, size_t size = rdx)
FUNCTION freehold_memset
    movzx   eax, sil
    mov     rcx, 0x0101010101010101
    imul    rcx, rax                      // the byte, eight times
    cmp     rdx, 16
    jae     .Lset_16
    cmp     edx, 8
    jae     .Lset_8_to_15
    cmp     edx, 4
    jae     .Lset_4_to_7
    test    edx, edx
    jz      .Lset_done
    mov     byte ptr [rdi + rdx - 1], cl
    cmp     edx, 1
    je      .Lset_done
    mov     word ptr [rdi], cx
.Lset_done:
    mov     rax, rdi
    ret

.Lset_4_to_7:
    mov     dword ptr [rdi], ecx
    mov     dword ptr [rdi + rdx - 4], ecx
    mov     rax, rdi
    ret

.Lset_8_to_15:
    mov     qword ptr [rdi], rcx
    mov     qword ptr [rdi + rdx - 8], rcx
    mov     rax, rdi
    ret

.Lset_16:
    cmp     rdx, kStringThreshold
    jb      .Lset_vector
    cmp     dword ptr [rip + freehold_fast_strings], 0
    je      .Lset_vector
    mov     rcx, rdx                      // al is the value
    rep stosb
    mov     rax, rdi
    sub     rax, rdx
    ret

.Lset_vector:
    movq    xmm0, rcx
    punpcklqdq xmm0, xmm0
    cmp     rdx, 64
    jb      .Lset_16_to_63
    lea     r8, [rdx - 64]
    xor     ecx, ecx
    .p2align 4
1:  movups  xmmword ptr [rdi + rcx], xmm0
    movups  xmmword ptr [rdi + rcx + 16], xmm0
    movups  xmmword ptr [rdi + rcx + 32], xmm0
    movups  xmmword ptr [rdi + rcx + 48], xmm0
    add     rcx, 64
    cmp     rcx, r8
    jbe     1b
    movups  xmmword ptr [rdi + rdx - 64], xmm0
    movups  xmmword ptr [rdi + rdx - 48], xmm0
    movups  xmmword ptr [rdi + rdx - 32], xmm0
    movups  xmmword ptr [rdi + rdx - 16], xmm0
    mov     rax, rdi
    ret

.Lset_16_to_63:
    movups  xmmword ptr [rdi], xmm0
    movups  xmmword ptr [rdi + rdx - 16], xmm0
    cmp     edx, 32
    jbe     .Lset_done
    movups  xmmword ptr [rdi + 16], xmm0
    movups  xmmword ptr [rdi + rdx - 32], xmm0
    mov     rax, rdi
    ret
END_FUNCTION freehold_memset

// void RhBulkMoveWithWriteBarrier(destination = rdi, source = rsi, size = rdx): an array of references, or of structs that hold some. Addresses
// and size are multiples of 8. No word is written twice: a store by another thread is lost only when it came before ours, as with single moves.
// freehold_after_move marks the cards of what was moved (heap/cards.h) and, while a remap is under way (heap/dedangling.h), makes it current.
FUNCTION RhBulkMoveWithWriteBarrier
    test    rdx, rdx
    jz      .Lbulk_nothing
    SAME_NAMES
    mov     rax, rdi
    sub     rax, rsi
    jz      .Lbulk_nothing
    cmp     rax, rdx
    jb      .Lbulk_backward
    xor     ecx, ecx
    mov     r8, rdx
    and     r8, -64
    jz      2f
    .p2align 4
1:  movups  xmm0, xmmword ptr [rsi + rcx]
    movups  xmm1, xmmword ptr [rsi + rcx + 16]
    movups  xmm2, xmmword ptr [rsi + rcx + 32]
    movups  xmm3, xmmword ptr [rsi + rcx + 48]
    movups  xmmword ptr [rdi + rcx], xmm0
    movups  xmmword ptr [rdi + rcx + 16], xmm1
    movups  xmmword ptr [rdi + rcx + 32], xmm2
    movups  xmmword ptr [rdi + rcx + 48], xmm3
    add     rcx, 64
    cmp     rcx, r8
    jb      1b
2:  test    dl, 32
    jz      3f
    movups  xmm0, xmmword ptr [rsi + rcx]
    movups  xmm1, xmmword ptr [rsi + rcx + 16]
    movups  xmmword ptr [rdi + rcx], xmm0
    movups  xmmword ptr [rdi + rcx + 16], xmm1
    add     rcx, 32
3:  test    dl, 16
    jz      4f
    movups  xmm0, xmmword ptr [rsi + rcx]
    movups  xmmword ptr [rdi + rcx], xmm0
    add     rcx, 16
4:  test    dl, 8
    jz      .Lbulk_done
    mov     rax, qword ptr [rsi + rcx]
    mov     qword ptr [rdi + rcx], rax
.Lbulk_done:
    cmp     qword ptr [rip + freehold_barrier], -1    // look_from: no cards, no remap
    jne     freehold_after_move
.Lbulk_nothing:
    ret

.Lbulk_backward:
    mov     rcx, rdx
    cmp     rcx, 64
    jb      2f
    .p2align 4
1:  movups  xmm0, xmmword ptr [rsi + rcx - 16]
    movups  xmm1, xmmword ptr [rsi + rcx - 32]
    movups  xmm2, xmmword ptr [rsi + rcx - 48]
    movups  xmm3, xmmword ptr [rsi + rcx - 64]
    movups  xmmword ptr [rdi + rcx - 16], xmm0
    movups  xmmword ptr [rdi + rcx - 32], xmm1
    movups  xmmword ptr [rdi + rcx - 48], xmm2
    movups  xmmword ptr [rdi + rcx - 64], xmm3
    sub     rcx, 64
    cmp     rcx, 64
    jae     1b
2:  test    dl, 32
    jz      3f
    movups  xmm0, xmmword ptr [rsi + rcx - 16]
    movups  xmm1, xmmword ptr [rsi + rcx - 32]
    movups  xmmword ptr [rdi + rcx - 16], xmm0
    movups  xmmword ptr [rdi + rcx - 32], xmm1
    sub     rcx, 32
3:  test    dl, 16
    jz      4f
    movups  xmm0, xmmword ptr [rsi + rcx - 16]
    movups  xmmword ptr [rdi + rcx - 16], xmm0
    sub     rcx, 16
4:  test    dl, 8
    jz      5f
    mov     rax, qword ptr [rsi + rcx - 8]
    mov     qword ptr [rdi + rcx - 8], rax
5:  jmp     .Lbulk_done
    .globl freehold_bulk_move_end
    .hidden freehold_bulk_move_end
freehold_bulk_move_end:
END_FUNCTION RhBulkMoveWithWriteBarrier

// void* RhpGcSafeZeroMemory(memory = rdi, size = rsi): no aligned word inside is ever seen half zero.
FUNCTION RhpGcSafeZeroMemory
    mov     rdx, rsi
    xor     ecx, ecx
    test    rdx, rdx
    jz      7f
    mov     eax, edi
    neg     eax
    and     eax, 7                        // bytes up to the first aligned word
    jz      .Lzero_aligned
    cmp     rax, rdx
    cmova   rax, rdx
1:  mov     byte ptr [rdi + rcx], 0
    inc     rcx
    cmp     rcx, rax
    jb      1b
.Lzero_aligned:
    pxor    xmm0, xmm0
    lea     rax, [rcx + 64]
    cmp     rax, rdx
    ja      3f
    .p2align 4
2:  movups  xmmword ptr [rdi + rcx], xmm0
    movups  xmmword ptr [rdi + rcx + 16], xmm0
    movups  xmmword ptr [rdi + rcx + 32], xmm0
    movups  xmmword ptr [rdi + rcx + 48], xmm0
    add     rcx, 64
    lea     rax, [rcx + 64]
    cmp     rax, rdx
    jbe     2b
3:  lea     rax, [rcx + 8]
    cmp     rax, rdx
    ja      5f
4:  mov     qword ptr [rdi + rcx], 0
    add     rcx, 8
    lea     rax, [rcx + 8]
    cmp     rax, rdx
    jbe     4b
5:  cmp     rcx, rdx
    jae     7f
6:  mov     byte ptr [rdi + rcx], 0
    inc     rcx
    cmp     rcx, rdx
    jb      6b
7:  mov     rax, rdi
    ret
END_FUNCTION RhpGcSafeZeroMemory

    .globl freehold_frameless_moves_end
    .hidden freehold_frameless_moves_end
freehold_frameless_moves_end:

    .section .note.GNU-stack, "", @progbits
