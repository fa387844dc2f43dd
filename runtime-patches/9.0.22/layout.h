// NativeAOT 9.0.22, linux-x64: what libfreehold.a knows of it, for C++ and assembly alike. Offsets and sizes in bytes, read from the debug information of
// the official archive. eng/runtime-version.sh compares them with an archive; probes.h is what a program compares when it starts.
#pragma once

#define FREEHOLD_RUNTIME_VERSION "9.0.22"
#define FREEHOLD_GC_INTERFACE_MINOR 3

// Thread, the thread-local variable tls_CurrentThread.
#define FREEHOLD_THREAD_ALLOCATION 0
#define FREEHOLD_THREAD_STATE 56
#define FREEHOLD_THREAD_TRANSITION_FRAME 64
#define FREEHOLD_THREAD_DEFERRED_FRAME 72
#define FREEHOLD_THREAD_CACHED_FRAME 80
#define FREEHOLD_THREAD_NEXT 88
#define FREEHOLD_THREAD_HIJACKED_SLOT 104
#define FREEHOLD_THREAD_HIJACKED_ADDRESS 112
#define FREEHOLD_THREAD_HIJACKED_FLAGS 120
#define FREEHOLD_THREAD_ABORT_EXCEPTION 136
#define FREEHOLD_THREAD_STATICS 144
#define FREEHOLD_THREAD_STATIC_ROOTS 152
#define FREEHOLD_THREAD_ID 184
#define FREEHOLD_THREAD_INTERRUPTED 200
#define FREEHOLD_THREAD_SIZE 208

// ThreadStore: a pthread_mutex_t.
#define FREEHOLD_THREAD_LIST_LOCK 16

#define FREEHOLD_STACK_ITERATOR_SIZE 376

// The function that signals a thread to stop it, PalHijack(handle, Thread*), and the one that makes a thread known to the runtime, PalAttachThread(Thread*).
#define FREEHOLD_HIJACK "PalHijack"
#define FREEHOLD_HIJACK_HAS_HANDLE
#define FREEHOLD_ATTACH_THREAD "PalAttachThread"

// IGCHeap and, behind it, IGCHeapInternal: the number of their functions.
#define FREEHOLD_GC_HEAP_SLOTS 0x58
#define FREEHOLD_GC_HEAP_INTERNAL_SLOTS 3

// Allocation of arrays: the fast path of compiled code, and the slow path of everything with a length.
#define FREEHOLD_ARRAY_FAST_PATH RhpNewArray
#define FREEHOLD_LENGTH_SLOW_PATH RhpNewArrayRare

// The interface dispatch stubs are one block of frameless code, from RhpInterfaceDispatch1 to here.
#define FREEHOLD_DISPATCH_STUBS_LAST "RhpInterfaceDispatchSlow"
#define FREEHOLD_DISPATCH_STUBS_LAST_SIZE 0
