// The runtime's allocation helpers (member AllocFast.S of its archive), leaf code as long as the thread's chunk has room: its address is taken
// by the initial-exec model, without a call, so that nothing has to be saved. (Freehold programs are executables; the linker makes it a constant.)
//
// To the compiler these are ordinary calls: every register that a call may destroy is free. Memory from alloc_ptr to alloc_limit is zero.
// A thread that never allocated has both null: it takes the slow path.
    .intel_syntax noprefix
    .text

// heap.h: AllocationContext, at the start of the runtime's Thread.
    .equ ALLOC_PTR, 0
    .equ ALLOC_LIMIT, 8

// The runtime's MethodTable.
    .equ TYPE_COMPONENT_SIZE, 0
    .equ TYPE_BASE_SIZE, 4

    .equ ARRAY_LENGTH, 8
    .equ STRING_MAX_LENGTH, 0x3fffffdf
    .equ STRING_BASE_SIZE, 22
    .equ ARRAY_MAX_LENGTH, 0x7fffffff

    .equ FLAG_FINALIZE, 1  // heap.h: kAllocFinalize

// The runtime's PInvokeTransitionFrame, as wide as the saved registers make it; above it are the caller's rbp and the return address.
    .equ FRAME_IP, 0
    .equ FRAME_RBP, 8
    .equ FRAME_THREAD, 16  // for the callee to fill
    .equ FRAME_FLAGS, 24
    .equ FRAME_RBX, 32
    .equ FRAME_R12, 40
    .equ FRAME_R13, 48
    .equ FRAME_R14, 56
    .equ FRAME_R15, 64
    .equ FRAME_RSP, 72
    .equ FRAME_SIZE, 80
    .equ FRAME_SAVED, 0x80f1  // rbx, r12 to r15, rsp are in the frame

.macro FUNCTION name
    .globl \name
    .type \name, @function
\name:
.endm

.macro END_FUNCTION name
    .size \name, . - \name
.endm

// \size = bytes, a multiple of 8; rdi = type. Returns the object in rax, its type set, or goes to \slow with rdi and rsi as they were.
// Addresses and sizes are below 2^48: the sum cannot wrap. Destroys \size and rdx.
.macro BUMP size, slow
    mov     rdx, qword ptr [rip + tls_CurrentThread@gottpoff]
    mov     rax, qword ptr fs:[rdx + ALLOC_PTR]
    add     \size, rax
    cmp     \size, qword ptr fs:[rdx + ALLOC_LIMIT]
    ja      \slow
    mov     qword ptr fs:[rdx + ALLOC_PTR], \size
    mov     qword ptr [rax], rdi
.endm

// rdi = type of fixed size.
    .p2align 5
    .cfi_startproc
FUNCTION RhpNewFast
    mov     ecx, dword ptr [rdi + TYPE_BASE_SIZE]
    BUMP    rcx, 1f
    ret
1:  xor     esi, esi
    jmp     RhpNewObject
END_FUNCTION RhpNewFast
    .cfi_endproc

// rdi = type of strings, rsi = length (64 bits: a negative one is too long).
    .p2align 5
    .cfi_startproc
FUNCTION RhNewString
    cmp     rsi, STRING_MAX_LENGTH
    ja      1f
    lea     rcx, [2 * rsi + STRING_BASE_SIZE + 7]
    and     rcx, -8
    BUMP    rcx, RhpNewArrayRare
    mov     dword ptr [rax + ARRAY_LENGTH], esi
    ret
1:  xor     esi, esi  // no overflow: out of memory
    jmp     RhExceptionHandling_FailedAllocation
END_FUNCTION RhNewString
    .cfi_endproc

// rdi = type of arrays, rsi = length (64 bits: a negative one is too long).
    .p2align 5
    .cfi_startproc
FUNCTION RhpNewArray
    cmp     rsi, ARRAY_MAX_LENGTH
    ja      1f
    movzx   ecx, word ptr [rdi + TYPE_COMPONENT_SIZE]
    mov     edx, dword ptr [rdi + TYPE_BASE_SIZE]
    imul    rcx, rsi
    lea     rcx, [rcx + rdx + 7]
    and     rcx, -8
    BUMP    rcx, RhpNewArrayRare
    mov     dword ptr [rax + ARRAY_LENGTH], esi
    ret
1:  mov     esi, 1  // overflow
    jmp     RhExceptionHandling_FailedAllocation
END_FUNCTION RhpNewArray
    .cfi_endproc

// rdi = type of fixed size with a finalizer.
    .p2align 4
    .cfi_startproc
FUNCTION RhpNewFinalizable
    mov     esi, FLAG_FINALIZE
    jmp     RhpNewObject
END_FUNCTION RhpNewFinalizable
    .cfi_endproc

// rdi = type of arrays or strings, rsi = length. By way of the heap.
    .p2align 4
    .cfi_startproc
FUNCTION RhpNewArrayRare
    mov     rdx, rsi
    xor     esi, esi
    jmp     .Lallocate
END_FUNCTION RhpNewArrayRare
    .cfi_endproc

// rdi = type of fixed size, esi = flags. By way of the heap.
    .p2align 4
    .cfi_startproc
FUNCTION RhpNewObject
    xor     edx, edx
// rdi = type, esi = flags, rdx = length. The registers are taken back from the frame: whoever walks the stack may have changed references there.
.Lallocate:
    push    rbp
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset rbp, 0
    mov     rbp, rsp
    lea     rax, [rsp + 16]  // the caller's rsp
    sub     rsp, FRAME_SIZE
    .cfi_adjust_cfa_offset FRAME_SIZE
    mov     qword ptr [rsp + FRAME_RSP], rax
    mov     qword ptr [rsp + FRAME_R15], r15
    .cfi_rel_offset r15, FRAME_R15
    mov     qword ptr [rsp + FRAME_R14], r14
    .cfi_rel_offset r14, FRAME_R14
    mov     qword ptr [rsp + FRAME_R13], r13
    .cfi_rel_offset r13, FRAME_R13
    mov     qword ptr [rsp + FRAME_R12], r12
    .cfi_rel_offset r12, FRAME_R12
    mov     qword ptr [rsp + FRAME_RBX], rbx
    .cfi_rel_offset rbx, FRAME_RBX
    mov     qword ptr [rsp + FRAME_FLAGS], FRAME_SAVED
    mov     qword ptr [rsp + FRAME_THREAD], 0
    mov     rcx, qword ptr [rbp]
    mov     qword ptr [rsp + FRAME_RBP], rcx
    mov     rcx, qword ptr [rbp + 8]
    mov     qword ptr [rsp + FRAME_IP], rcx
    mov     rbx, rdi
    mov     rcx, rsp
    call    RhpGcAlloc
    mov     rdi, rbx
    test    rax, rax
    mov     rbp, qword ptr [rsp + FRAME_RBP]
    .cfi_restore rbp
    mov     rbx, qword ptr [rsp + FRAME_RBX]
    .cfi_restore rbx
    mov     r12, qword ptr [rsp + FRAME_R12]
    .cfi_restore r12
    mov     r13, qword ptr [rsp + FRAME_R13]
    .cfi_restore r13
    mov     r14, qword ptr [rsp + FRAME_R14]
    .cfi_restore r14
    mov     r15, qword ptr [rsp + FRAME_R15]
    .cfi_restore r15
    lea     rsp, [rsp + FRAME_SIZE + 8]  // leaves the flags alone
    .cfi_adjust_cfa_offset -(FRAME_SIZE + 8)
    jz      1f
    ret
1:  xor     esi, esi  // no overflow: out of memory
    jmp     RhExceptionHandling_FailedAllocation
END_FUNCTION RhpNewObject
    .cfi_endproc

    .section .note.GNU-stack, "", @progbits
