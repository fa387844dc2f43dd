// NativeAOT 10.0.12, linux-x64: what libfreehold.a knows of it, for C++ and assembly alike. Offsets and sizes in bytes, read from the debug information of
// the official archive. eng/runtime-version.sh compares them with an archive; probes.h is what a program compares when it starts.
#pragma once

#define FREEHOLD_RUNTIME_VERSION "10.0.12"
#define FREEHOLD_GC_INTERFACE_MINOR 5

// Thread, the thread-local variable tls_CurrentThread. Before the allocation context lies a limit of its own for the runtime's fast paths (allocation
// sampling), which is never current here: allocation.S takes the place of all of them.
#define FREEHOLD_THREAD_ALLOCATION 8
#define FREEHOLD_THREAD_STATE 64
#define FREEHOLD_THREAD_TRANSITION_FRAME 72
#define FREEHOLD_THREAD_DEFERRED_FRAME 80
#define FREEHOLD_THREAD_CACHED_FRAME 88
#define FREEHOLD_THREAD_NEXT 96
#define FREEHOLD_THREAD_HIJACKED_SLOT 104
#define FREEHOLD_THREAD_HIJACKED_ADDRESS 112
#define FREEHOLD_THREAD_ABORT_EXCEPTION 128
#define FREEHOLD_THREAD_STATICS 144
#define FREEHOLD_THREAD_STATIC_ROOTS 152
#define FREEHOLD_THREAD_ID 184
#define FREEHOLD_THREAD_INTERRUPTED 200
#define FREEHOLD_THREAD_SIZE 208

// ThreadStore: a pthread_mutex_t.
#define FREEHOLD_THREAD_LIST_LOCK 16

#define FREEHOLD_STACK_ITERATOR_SIZE 360

// The function that signals a thread to stop it, PalHijack(Thread*), and the one that makes a thread known to the runtime, PalAttachThread(Thread*).
#define FREEHOLD_HIJACK "_Z9PalHijackP6Thread"
#define FREEHOLD_ATTACH_THREAD "_Z15PalAttachThreadPv"

// IGCHeap and, behind it, IGCHeapInternal: the number of their functions.
#define FREEHOLD_GC_HEAP_SLOTS 0x59
#define FREEHOLD_GC_HEAP_INTERNAL_SLOTS 4

// Allocation of arrays: the fast paths of compiled code, and the slow path of everything with a length.
#define FREEHOLD_ARRAY_FAST_PATH RhpNewArrayFast
#define FREEHOLD_POINTER_ARRAY_FAST_PATH RhpNewPtrArrayFast
#define FREEHOLD_LENGTH_SLOW_PATH RhpNewVariableSizeObject

// The interface dispatch stubs are one block of frameless code, from RhpInterfaceDispatch1 to the end of this one.
#define FREEHOLD_DISPATCH_STUBS_LAST "RhpInitialInterfaceDispatch"
#define FREEHOLD_DISPATCH_STUBS_LAST_SIZE 8
