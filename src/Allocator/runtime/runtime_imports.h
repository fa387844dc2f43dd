// What Freehold uses of NativeAOT: functions and variables of its archive under names of our own, and the layouts of its structures.
// Owns nothing. Every offset was read from the debug information of the shipped archive; is_known_runtime() checks at start what can be checked.
// What differs between versions is in runtime-patches/<version>/layout.h, of which each build of the archive sees one.
#pragma once

#include <sys/ucontext.h>
#include <cstddef>
#include <cstdint>

#include "heap/heap.h"

#include <layout.h>

namespace freehold::runtime {

// A reference to the object that holds thread-static fields, in thread-local memory. One for each module that the thread has used.
struct ThreadStaticRoot {
  uintptr_t object;
  ThreadStaticRoot* next;
  void* type_manager;
};
static_assert(sizeof(ThreadStaticRoot) == 24);

// An attached thread, the thread-local variable tls_CurrentThread: of its members those that are used here, each at its offset.
struct Thread {
#define FREEHOLD_MEMBER(type, name, offset) \
  struct {                                  \
    uint8_t before_##name[offset];          \
    type name;                              \
  }
  union {
    uint8_t whole[FREEHOLD_THREAD_SIZE];
    FREEHOLD_MEMBER(heap::AllocationContext, allocation, FREEHOLD_THREAD_ALLOCATION);
    FREEHOLD_MEMBER(uint32_t, state, FREEHOLD_THREAD_STATE);
    FREEHOLD_MEMBER(void*, transition_frame, FREEHOLD_THREAD_TRANSITION_FRAME);  // null = cooperative mode, the thread may touch the managed heap
    FREEHOLD_MEMBER(void*, deferred_frame, FREEHOLD_THREAD_DEFERRED_FRAME);
    FREEHOLD_MEMBER(void*, cached_frame, FREEHOLD_THREAD_CACHED_FRAME);
    FREEHOLD_MEMBER(Thread*, next, FREEHOLD_THREAD_NEXT);
    FREEHOLD_MEMBER(void**, hijacked_slot, FREEHOLD_THREAD_HIJACKED_SLOT);
    FREEHOLD_MEMBER(void*, hijacked_address, FREEHOLD_THREAD_HIJACKED_ADDRESS);
#ifdef FREEHOLD_THREAD_HIJACKED_FLAGS
    FREEHOLD_MEMBER(uint64_t, hijacked_flags, FREEHOLD_THREAD_HIJACKED_FLAGS);
#endif
    FREEHOLD_MEMBER(void*, abort_exception, FREEHOLD_THREAD_ABORT_EXCEPTION);
    FREEHOLD_MEMBER(uintptr_t, thread_statics, FREEHOLD_THREAD_STATICS);  // an array of arrays of objects that hold fields
    FREEHOLD_MEMBER(ThreadStaticRoot*, thread_static_roots, FREEHOLD_THREAD_STATIC_ROOTS);
    FREEHOLD_MEMBER(uint64_t, thread_id, FREEHOLD_THREAD_ID);                      // the kernel's
    FREEHOLD_MEMBER(const ucontext_t*, interrupted, FREEHOLD_THREAD_INTERRUPTED);  // where a signal stopped it, while transition_frame is kInterrupted
  };
#undef FREEHOLD_MEMBER

  static constexpr uint32_t kAttached = 1;
  static constexpr uint32_t kDetached = 2;
  static constexpr uintptr_t kInterrupted = ~uintptr_t{1};
  // Null: none. All ones: the thread never ran managed code.
  static bool is_frame(const void* frame) noexcept { return frame != nullptr && ~reinterpret_cast<uintptr_t>(frame) != 0; }
  // The return address is its own again.
  void forget_hijack() noexcept {
    hijacked_slot = nullptr;
    hijacked_address = nullptr;
#ifdef FREEHOLD_THREAD_HIJACKED_FLAGS
    hijacked_flags = 0;
#endif
  }
};
static_assert(offsetof(Thread, allocation) == FREEHOLD_THREAD_ALLOCATION && offsetof(Thread, thread_static_roots) == FREEHOLD_THREAD_STATIC_ROOTS);
static_assert(offsetof(Thread, interrupted) == FREEHOLD_THREAD_INTERRUPTED && sizeof(Thread) == FREEHOLD_THREAD_SIZE);

struct UnboxingStubs {
  uint8_t* start;
  uint32_t size;
  UnboxingStubs* next;
};

struct RuntimeInstance {
  Thread** threads;  // the thread store; its first word is the head of the list
  void* pal_instance;
  void* modules;
  void* code_manager;  // null until the module is registered, after GC_Initialize
  uint8_t* managed_start;
  uint32_t managed_size;
  void* type_managers;
  bool conservative;
  UnboxingStubs* unboxing_stubs;
};
static_assert(offsetof(RuntimeInstance, managed_start) == 32 && offsetof(RuntimeInstance, unboxing_stubs) == 64);

struct ScanContext {
  Thread* thread;
  int32_t thread_number;
  int32_t thread_count;
  uintptr_t stack_limit;
  bool promotion;
  bool concurrent;
  void* unused;
  void* application_domain;
  int32_t root_kind;
};
static_assert(sizeof(ScanContext) == 56 && offsetof(ScanContext, promotion) == 24 && offsetof(ScanContext, root_kind) == 48);

using RootCallback = void (*)(void** slot, ScanContext* context, uint32_t flags);
using ContextCallback = void (*)(heap::AllocationContext* context, void* argument);

// Where the registers of a frame are, in the order of the instruction set's numbers, the stack pointer left out.
struct RegisterDisplay {
  greg_t* registers[15];
  uintptr_t stack_pointer;
  uintptr_t ip;
};
static_assert(offsetof(RegisterDisplay, stack_pointer) == 120 && sizeof(RegisterDisplay) == 136);

struct MethodInfo {
  uintptr_t method;  // start of the method, whose funclets have code of their own
  void* maps[2];
  uintptr_t start;  // of the function or funclet
  uint64_t rest[5];
};
static_assert(offsetof(MethodInfo, start) == 24 && sizeof(MethodInfo) == 72);

// Settings that GC.RefreshMemoryLimit passes; ~0 = not given.
struct HardLimitSettings {
  uint64_t limit, percent;
  uint64_t small, large, pinned;
  uint64_t small_percent, large_percent, pinned_percent;
};
static_assert(sizeof(HardLimitSettings) == 64);

// GCToEEInterface, a class of static functions.
void suspend_runtime(int32_t reason) asm("_ZN15GCToEEInterface9SuspendEEE14SUSPEND_REASON");
void restart_runtime(bool finished) asm("_ZN15GCToEEInterface9RestartEEEb");
void scan_roots(RootCallback callback, int32_t condemned, int32_t oldest,
                ScanContext* context) asm("_ZN15GCToEEInterface11GcScanRootsEPFvPP6ObjectP11ScanContextjEiiS4_");
// The handle table: calls `callback` for every handle but pinning ones, and for both objects of dependent handles. Threads are stopped.
void scan_handles(uint32_t condemned, uint32_t oldest, ScanContext* context,
                  RootCallback callback) asm("_Z18Ref_UpdatePointersjjP11ScanContextPFvPP6ObjectS0_jE");
void scan_dependent_handles(uint32_t condemned, uint32_t oldest, ScanContext* context, RootCallback callback) asm(
    "_Z37Ref_ScanDependentHandlesForRelocationjjP11ScanContextPFvPP6ObjectS0_jE");  // the primary, then the secondary
void scan_pinning_handles(uint32_t condemned, uint32_t oldest, ScanContext* context,
                          RootCallback callback) asm("_Z24Ref_UpdatePinnedPointersjjP11ScanContextPFvPP6ObjectS0_jE");
void enumerate_contexts(ContextCallback callback, void* argument) asm("_ZN15GCToEEInterface19GcEnumAllocContextsEPFvP16gc_alloc_contextPvES2_");
extern "C" uint32_t RhpTrapThreads;                                               // core/stop_request.h
bool leave_cooperative_mode() asm("_ZN15GCToEEInterface18EnablePreemptiveGCEv");  // was the thread in it?
void enter_cooperative_mode() asm("_ZN15GCToEEInterface19DisablePreemptiveGCEv");
void request_finalizer_thread(bool wait) asm("_ZN15GCToEEInterface18EnableFinalizationEb");
bool int_setting(const char* key, const char* public_key, int64_t* value) asm("_ZN15GCToEEInterface17GetIntConfigValueEPKcS1_Pl");

uint64_t dead_threads_unused_bytes() asm("_ZN6Thread27GetDeadThreadsNonAllocBytesEv");
uint32_t process_processors() asm("RhGetProcessCpuCount");  // by affinity, the quota of a control group, and DOTNET_PROCESSOR_COUNT
uint64_t physical_memory_limit(bool* restricted) asm("_ZN15GCToOSInterface22GetPhysicalMemoryLimitEPb");
void memory_status(uint64_t restricted_limit, uint32_t* load, uint64_t* available, uint64_t* page_file) asm("_ZN15GCToOSInterface15GetMemoryStatusEmPjPmS1_");

// UnixNativeCodeManager, of which there is one. Signal-safe (stale_references.cpp).
bool find_method_info(void* manager, void* code, MethodInfo* method) asm("_ZN21UnixNativeCodeManager14FindMethodInfoEPvP10MethodInfo");
// `callback` points to a function pointer, which is called with `callback`, a slot, and its kind. `active`: the frame is on top of the stack.
void enumerate_references(void* manager, MethodInfo* method, void* code, RegisterDisplay* registers, void* callback,
                          bool active) asm("_ZN21UnixNativeCodeManager10EnumGcRefsEP10MethodInfoPvP10REGDISPLAYP13GCEnumContextb");
// Turns the registers of a frame into those of its caller: those that the callee saved are then found on the stack. `transition`: set when the caller is native.
bool unwind_frame(void* manager, MethodInfo* method, uint32_t flags, RegisterDisplay* registers,
                  void** transition) asm("_ZN21UnixNativeCodeManager16UnwindStackFrameEP10MethodInfojP10REGDISPLAYPP22PInvokeTransitionFrame");
bool is_interruptible(void* manager, void* code) asm("_ZN21UnixNativeCodeManager11IsSafePointEPv");

// Registers of a managed frame that a call preserves.
struct LimitedContext {
  uintptr_t ip, stack_pointer, rbp, rax, rbx, rdx, r12, r13, r14, r15;
};
static_assert(sizeof(LimitedContext) == 80);

struct StackIterator {
  Thread* thread;
  void* instance;
  void* frame_pointer;
  uintptr_t ip;  // null: at the end
  RegisterDisplay registers;
  uint8_t rest[FREEHOLD_STACK_ITERATOR_SIZE - 4 * sizeof(void*) - sizeof(RegisterDisplay)];

  static constexpr uint32_t kTraceFlags = 0x8a;  // as the runtime walks for the trace of an exception: one frame a method, native ones left out
};
static_assert(offsetof(StackIterator, ip) == 24 && offsetof(StackIterator, registers) == 32 && sizeof(StackIterator) == FREEHOLD_STACK_ITERATOR_SIZE);

// StackFrameIterator. A walk of the calling thread from a managed frame, or from where it left managed code.
void initialize_stack_walk(StackIterator* iterator, Thread* thread, void* transition_frame,
                           uint32_t flags) asm("_ZN18StackFrameIterator12InternalInitEP6ThreadP22PInvokeTransitionFramej");
void initialize_stack_walk(StackIterator* iterator, Thread* thread, LimitedContext* context,
                           uint32_t flags) asm("_ZN18StackFrameIterator12InternalInitEP6ThreadP19PAL_LIMITED_CONTEXTj");
void begin_stack_walk(StackIterator* iterator) asm("_ZN18StackFrameIterator19PrepareToYieldFrameEv");
void find_method_of_frame(StackIterator* iterator) asm("_ZN18StackFrameIterator27CalculateCurrentMethodStateEv");  // before next_frame
void next_frame(StackIterator* iterator) asm("_ZN18StackFrameIterator4NextEv");
void undo_hijack(Thread* thread) asm("_ZN6Thread8UnhijackEv");

// The runtime's copy of libunwind; sizes are rounded up.
struct UnwindContext {
  uint64_t words[64];
};
struct UnwindCursor {
  uint64_t words[128];
};
int unwind_here(UnwindContext* context) asm("__unw_getcontext");
int unwind_initialize(UnwindCursor* cursor, UnwindContext* context) asm("__unw_init_local");
int unwind_step(UnwindCursor* cursor) asm("__unw_step");
int unwind_register(UnwindCursor* cursor, int32_t number, uintptr_t* value) asm("__unw_get_reg");

RuntimeInstance* runtime_instance() asm("_Z18GetRuntimeInstancev");
uint32_t handle_type(void* handle) asm("_Z15HandleFetchTypeP14OBJECTHANDLE__");
enum HandleType : uint32_t { kWeakShort = 0, kWeakLong = 1, kPinned = 3, kRefCounted = 5, kDependent = 6, kWeakNativeCom = 9, kWeakInterior = 10 };
constexpr bool is_weak_handle(uint32_t type) noexcept {
  constexpr uint32_t kWeak = 1u << kWeakShort | 1u << kWeakLong | 1u << kDependent | 1u << kWeakNativeCom | 1u << kWeakInterior;
  return (kWeak >> type & 1) != 0;
}
// Whether native code holds the object of a handle of type kRefCounted. Runs managed code (ComWrappers), which reads the object; only while the threads are stopped.
bool has_native_references(void* object) asm("_ZN15GCToEEInterface25RefCountedHandleCallbacksEP6Object");
void* create_handle_manager() asm("_Z21CreateGCHandleManagerv");

extern "C" {
// Thread-local; zero on threads that never ran managed code.
extern __thread Thread tls_CurrentThread;
void RhpThrowHwEx();

// Every embedded setting: a count, then as many names, then as many values.
extern struct {
  uint32_t count;
  const char* text[];
} g_compilerEmbeddedKnobsBlob;

extern void* g_theGCHeap;
extern uint8_t* g_ephemeral_low;
extern uint8_t* g_ephemeral_high;
extern int32_t g_gc_heap_type;
extern HardLimitSettings g_gcHeapHardLimitInfo;
extern bool g_gcHeapHardLimitInfoSpecified;
}

// Tells whether the code linked into this program is that of the version these declarations describe.
bool is_known_runtime() noexcept;

// Both are signal-safe. Unboxing stubs have no frame and no unwind information.
inline bool is_unboxing_stub(uintptr_t address) noexcept {
  for (const UnboxingStubs* stubs = runtime_instance()->unboxing_stubs; stubs != nullptr; stubs = stubs->next) {
    if (address - reinterpret_cast<uintptr_t>(stubs->start) < stubs->size) return true;
  }
  return false;
}
inline bool is_managed_code(uintptr_t address) noexcept {
  const RuntimeInstance* instance = runtime_instance();
  return address - reinterpret_cast<uintptr_t>(instance->managed_start) < instance->managed_size && !is_unboxing_stub(address);
}

}  // namespace freehold::runtime
