// The runtime's write barriers and interlocked reference helpers (member WriteBarriers.S of its archive). Most stores are plain: LOOK_CLOSER leaves only
// for references to young objects, whose field's card is marked before the store (heap/cards.h; if that faults and is repaired, the handler marks where the object is now), while a remap is under way (heap/dedangling.h): then what is stored must be
// a current name, which a function behind the frameless ones asks for, to come back to the label given; and while a scope is open, for references to its objects: the same
// function notes where they are stored (heap/scope_notes.h), unless both lie where the thread's own scope allocates.
//
// Invariant: between freehold_frameless_barriers_begin and _end every function is frameless, so at any fault the return address is at [rsp]
// and the callee-saved registers are the caller's. The fault handler relies on it; no function here may touch the stack.
// Registers destroyed are a subset of what the originals destroy (rdi, r10, r11; ByRef: rax, rcx): the compiler keeps values in all others.
#include "runtime/functions.h"

    .intel_syntax noprefix
    .text

    .hidden freehold_barrier
    .hidden freehold_remapping
    .hidden freehold_registered_again
    .hidden freehold_before_store
    .hidden freehold_scope_range

// FreeholdBarrier in heap/cards.h
    .set kLookFrom, 0
    .set kMarkedFrom, 8
    .set kStart, 16
    .set kPages, 24
    .set kCards, 32
    .set kScopeFrom, 40
    .set kBothMarks, 0xc0    // heap::Card::kMarks
    .set kRangeSize, 8       // FreeholdScopeRange in heap/scope_notes.h
    .set kOnlyScopes, 4      // of freehold_remapping

.macro LOOK_CLOSER reference, target
    cmp     \reference, qword ptr [rip + freehold_barrier + kLookFrom]
    jae     \target
.endm

// Marks the card of a location that is about to hold a young reference. A location outside the arena has none; nor has null, which faults at the store.
.macro MARK_CARD location, reference, reference_low, scratch
    cmp     \reference, qword ptr [rip + freehold_barrier + kMarkedFrom]
    jb      .Lnot_young_\@
    test    \reference_low, \reference_low
    js      .Lnot_young_\@
    mov     \scratch, \location
    sub     \scratch, qword ptr [rip + freehold_barrier + kStart]
    shr     \scratch, 12
    cmp     \scratch, qword ptr [rip + freehold_barrier + kPages]
    jae     .Lnot_young_\@
    add     \scratch, qword ptr [rip + freehold_barrier + kCards]
    cmp     byte ptr [\scratch], kBothMarks
    jae     .Lnot_young_\@
    or      byte ptr [\scratch], kBothMarks
.Lnot_young_\@:
.endm

// Goes to the target if nothing is to be asked of the store.
.macro UNLESS_REMAPPING location, reference, target, scratch, scratch2
    cmp     byte ptr [rip + freehold_remapping], kOnlyScopes
    jb      .Lbelow_\@
    ja      .Lask_\@
    cmp     \reference, qword ptr [rip + freehold_barrier + kScopeFrom]
    jb      \target
    mov     \scratch, qword ptr freehold_scope_range@gottpoff[rip]
    mov     \scratch2, \location
    sub     \scratch2, qword ptr fs:[\scratch]
    cmp     \scratch2, qword ptr fs:[\scratch + kRangeSize]
    jae     .Lask_\@
    mov     \scratch2, \reference
    sub     \scratch2, qword ptr fs:[\scratch]
    cmp     \scratch2, qword ptr fs:[\scratch + kRangeSize]
    jb      \target
    jmp     .Lask_\@
.Lbelow_\@:
    cmp     byte ptr [rip + freehold_remapping], 0
    je      \target
.Lask_\@:
.endm

    .p2align 4
    .globl freehold_frameless_barriers_begin
    .hidden freehold_frameless_barriers_begin
freehold_frameless_barriers_begin:

// rdi = location, rsi = reference. The AVLocation labels are where the runtime's own handler expects a null location to fault.
FUNCTION RhpAssignRef
    .globl RhpAssignRefESI
RhpAssignRefESI:
    LOOK_CLOSER rsi, .LRhpAssignRef_closer
    .globl RhpAssignRefAVLocation
RhpAssignRefAVLocation:
    mov     qword ptr [rdi], rsi
    ret
.LRhpAssignRef_closer:
    MARK_CARD rdi, rsi, esi, r10
    UNLESS_REMAPPING rdi, rsi, RhpAssignRefAVLocation, r10, r11
    lea     r10, [rip + 1f]
    jmp     freehold_name_rsi
1:  mov     qword ptr [rdi], r11
    ret
END_FUNCTION RhpAssignRef

FUNCTION RhpCheckedAssignRef
    .globl RhpCheckedAssignRefESI
RhpCheckedAssignRefESI:
    LOOK_CLOSER rsi, .LRhpCheckedAssignRef_closer
    .globl RhpCheckedAssignRefAVLocation
RhpCheckedAssignRefAVLocation:
    mov     qword ptr [rdi], rsi
    ret
.LRhpCheckedAssignRef_closer:
    MARK_CARD rdi, rsi, esi, r10
    UNLESS_REMAPPING rdi, rsi, RhpCheckedAssignRefAVLocation, r10, r11
    lea     r10, [rip + 1f]
    jmp     freehold_name_rsi
1:  mov     qword ptr [rdi], r11
    ret
END_FUNCTION RhpCheckedAssignRef

// rsi = source location, rdi = location; both advance by one reference.
FUNCTION RhpByRefAssignRef
    .globl RhpByRefAssignRefAVLocation1
RhpByRefAssignRefAVLocation1:
    mov     rcx, qword ptr [rsi]
    LOOK_CLOSER rcx, .LRhpByRefAssignRef_closer
    .globl RhpByRefAssignRefAVLocation2
RhpByRefAssignRefAVLocation2:
    mov     qword ptr [rdi], rcx
    add     rdi, 8
    add     rsi, 8
    ret
.LRhpByRefAssignRef_closer:
    MARK_CARD rdi, rcx, ecx, rax
    cmp     byte ptr [rip + freehold_remapping], 0
    je      RhpByRefAssignRefAVLocation2
    lea     rax, [rip + RhpByRefAssignRefAVLocation2]
    jmp     freehold_name_rcx
END_FUNCTION RhpByRefAssignRef

// rdi = location, rsi = new reference, rdx = comparand; returns what was there.
FUNCTION RhpCheckedLockCmpXchg
    LOOK_CLOSER rsi, .LRhpCheckedLockCmpXchg_closer
1:  mov     rax, rdx
    lock cmpxchg qword ptr [rdi], rsi
    ret
.LRhpCheckedLockCmpXchg_closer:
    MARK_CARD rdi, rsi, esi, r10
    UNLESS_REMAPPING rdi, rsi, 1b, r10, r11
    lea     r10, [rip + 2f]
    jmp     freehold_name_rsi
2:  mov     rsi, r11
    jmp     1b
END_FUNCTION RhpCheckedLockCmpXchg

// rdi = location, rsi = new reference; returns what was there.
FUNCTION RhpCheckedXchg
    LOOK_CLOSER rsi, .LRhpCheckedXchg_closer
1:  mov     rax, rsi
    xchg    qword ptr [rdi], rax
    ret
.LRhpCheckedXchg_closer:
    MARK_CARD rdi, rsi, esi, r10
    UNLESS_REMAPPING rdi, rsi, 1b, r10, r11
    lea     r10, [rip + 2f]
    jmp     freehold_name_rsi
2:  mov     rsi, r11
    jmp     1b
END_FUNCTION RhpCheckedXchg

// The helpers below belong to members of the runtime that cannot be replaced as a whole; the linker's --wrap sends callers here. The originals
// have a frame, and two of them a virtual call, so that a fault in them could not be unwound.

// rdi = location, esi = new value, edx = comparand.
FUNCTION __wrap_RhpLockCmpXchg32
    mov     eax, edx
    lock cmpxchg dword ptr [rdi], esi
    ret
END_FUNCTION __wrap_RhpLockCmpXchg32

FUNCTION __wrap_RhpLockCmpXchg64
    mov     rax, rdx
    lock cmpxchg qword ptr [rdi], rsi
    ret
END_FUNCTION __wrap_RhpLockCmpXchg64

// rdi = object: "finalizer run or suppressed" is bit 30 of the sync word, meaningful when the type has a finalizer (flag 0x100000).
FUNCTION __wrap_RhSuppressFinalize
    mov     rax, qword ptr [rdi]
    test    dword ptr [rax], 0x100000
    jz      1f
    lock or dword ptr [rdi - 4], 0x40000000
1:  ret
END_FUNCTION __wrap_RhSuppressFinalize

// rdi = object; returns true: nothing has to be registered.
FUNCTION __wrap_RhReRegisterForFinalize
    mov     rax, qword ptr [rdi]
    test    dword ptr [rax], 0x100000
    jz      1f
    mov     byte ptr [rip + freehold_registered_again], 1
    lock and dword ptr [rdi - 4], 0xbfffffff
1:  mov     eax, 1
    ret
END_FUNCTION __wrap_RhReRegisterForFinalize

// rdi, rsi = objects of one type that is no array: are their fields bitwise equal? Field space is base size - 16, a multiple of 8.
FUNCTION __wrap_RhCompareObjectContentsAndPadding
    mov     rax, qword ptr [rdi]
    mov     ecx, dword ptr [rax + 4]
    xor     eax, eax
    sub     ecx, 8
1:  cmp     ecx, 8
    jbe     2f
    sub     ecx, 8
    mov     rdx, qword ptr [rdi + rcx]
    cmp     rdx, qword ptr [rsi + rcx]
    je      1b
    ret
2:  inc     eax
    ret
END_FUNCTION __wrap_RhCompareObjectContentsAndPadding

// rdi = the exception of a throw statement. Read here, where the throw statement can be given another exception: within the dispatch, which
// reads it first of all, a fault could not be unwound. RhpThrowEx deals with null itself.
FUNCTION __wrap_RhpThrowEx
    test    rdi, rdi
    jz      1f
    test    byte ptr [rdi], al
1:  jmp     __real_RhpThrowEx
END_FUNCTION __wrap_RhpThrowEx

    .globl freehold_frameless_barriers_end
    .hidden freehold_frameless_barriers_end
freehold_frameless_barriers_end:

// name: puts the current name of what is in `from` into `to`, then goes on at the address in `back`; rdi is where it is going to be stored. All other registers stay as they are:
// freehold_before_store is compiled to use none but general ones. Nothing faults in here. Nine registers and a return address align the stack.
.macro CURRENT_NAME name, from, to, back
    .p2align 4
    .cfi_startproc
\name:
    .irp register, rax, rcx, rdx, rsi, rdi, r8, r9, r10, r11
    push    \register
    .cfi_adjust_cfa_offset 8
    .endr
    mov     rax, rdi
    mov     rdi, \from
    mov     rsi, rax
    call    freehold_before_store
    mov     qword ptr [rsp + .Lsaved_\to], rax
    .irp register, r11, r10, r9, r8, rdi, rsi, rdx, rcx, rax
    pop     \register
    .cfi_adjust_cfa_offset -8
    .endr
    jmp     \back
    .cfi_endproc
.endm

    .set .Lsaved_r11, 0
    .set .Lsaved_rcx, 56

CURRENT_NAME freehold_name_rsi, rsi, r11, r10
CURRENT_NAME freehold_name_rcx, rcx, rcx, rax

    .section .note.GNU-stack, "", @progbits
