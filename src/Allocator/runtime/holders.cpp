// The runtime's own iterator walks the stacks, as for the trace of an exception. Which of a frame's places are references, its code's map says. A reference that the iterator does not lead to, such as
// the value that a function is about to return, is a root of scan_roots() all the same: then nobody knows the frame.
#include "runtime/holders.h"

#include <string.h>

#include "runtime/runtime_imports.h"
#include "runtime/suspension.h"

namespace freehold::runtime {

namespace {

constexpr uint32_t kOldest = 2;

// The iterator's registers, behind its first members in all versions. That their place of execution is the iterator's own shows that they are there.
RegisterDisplay* registers_of(StackIterator* iterator) noexcept { return iterator->registers.ip == iterator->ip ? &iterator->registers : nullptr; }

// The frame that the iterator is at. False: nothing is known of it.
bool describe(StackIterator* iterator, const Thread& thread, heap::FrameSeen* frame, MethodInfo* method) noexcept {
  RegisterDisplay* display = registers_of(iterator);
  if (display == nullptr || !find_method_info(runtime_instance()->code_manager, reinterpret_cast<void*>(iterator->ip), method)) return false;
  *frame = {thread.thread_id, display->stack_pointer, method->start, iterator->ip};
  return true;
}

// What EnumGcRefs is given: its callback first.
struct References {
  void (*callback)(void* references, uintptr_t* place, uint32_t flags);
  void (*slot)(const void* place, void* argument);
  void* argument;
  // Of a thread that a signal has stopped: roots of the runtime are in the signal's registers, those that the iterator leads to in its copy.
  const LimitedContext* copy;
  const ucontext_t* interrupted;

  const void* place_of(uintptr_t* place) const noexcept {
    constexpr int kRegisters[] = {REG_RIP, REG_RSP, REG_RBP, REG_RAX, REG_RBX, REG_RDX, REG_R12, REG_R13, REG_R14, REG_R15};
    static_assert(sizeof kRegisters / sizeof(int) == sizeof(LimitedContext) / sizeof(uintptr_t));
    size_t index = (reinterpret_cast<uintptr_t>(place) - reinterpret_cast<uintptr_t>(copy)) / sizeof(uintptr_t);
    if (copy == nullptr || index >= sizeof(LimitedContext) / sizeof(uintptr_t)) return place;
    return &interrupted->uc_mcontext.gregs[kRegisters[index]];
  }
};

RegisterDisplay display_of(const ucontext_t& context) noexcept {
  // In the order of the instruction set's numbers, the stack pointer left out.
  constexpr int kRegisters[15] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RBP, REG_RSI, REG_RDI, REG_R8,
                                  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
  const greg_t* registers = context.uc_mcontext.gregs;
  RegisterDisplay display;
  for (int i = 0; i < 15; i++) display.registers[i] = const_cast<greg_t*>(&registers[kRegisters[i]]);
  display.stack_pointer = static_cast<uintptr_t>(registers[REG_RSP]);
  display.ip = static_cast<uintptr_t>(registers[REG_RIP]);
  return display;
}

LimitedContext limited(const ucontext_t& context) noexcept {
  auto value = [&](int number) noexcept { return static_cast<uintptr_t>(context.uc_mcontext.gregs[number]); };
  return {.ip = value(REG_RIP),
          .stack_pointer = value(REG_RSP),
          .rbp = value(REG_RBP),
          .rax = value(REG_RAX),
          .rbx = value(REG_RBX),
          .rdx = value(REG_RDX),
          .r12 = value(REG_R12),
          .r13 = value(REG_R13),
          .r14 = value(REG_R14),
          .r15 = value(REG_R15)};
}

void walk(Thread& thread, void (*found)(const heap::FrameSeen& frame, void* argument), References* references) noexcept {
  bool is_own = &thread == &tls_CurrentThread;
  void* innermost = is_own ? thread.deferred_frame : thread.transition_frame;
  if (!Thread::is_frame(innermost)) return;
  StackIterator iterator;
  LimitedContext copy;
  // A signal has stopped it: in the innermost frame the registers that a call would not preserve count as well.
  bool is_interrupted = reinterpret_cast<uintptr_t>(innermost) == Thread::kInterrupted;
  references->copy = nullptr;
  if (is_interrupted) {
    if (thread.interrupted == nullptr) return;
    copy = limited(*thread.interrupted);
    references->copy = &copy;
    references->interrupted = thread.interrupted;
    initialize_stack_walk(&iterator, &thread, &copy, StackIterator::kTraceFlags);
  } else {
    initialize_stack_walk(&iterator, &thread, innermost, StackIterator::kTraceFlags);
  }
  begin_stack_walk(&iterator);
  bool active = is_interrupted;
  while (iterator.ip != 0) {
    heap::FrameSeen frame;
    MethodInfo method;
    if (describe(&iterator, thread, &frame, &method)) {
      found(frame, references->argument);
      RegisterDisplay whole;
      RegisterDisplay* display = registers_of(&iterator);
      if (active) *(display = &whole) = display_of(*thread.interrupted);
      enumerate_references(runtime_instance()->code_manager, &method, reinterpret_cast<void*>(iterator.ip), display, references, active);
    }
    active = false;
    find_method_of_frame(&iterator);
    next_frame(&iterator);
  }
}

void for_each_frame(void (*frame)(const heap::FrameSeen& frame, void* argument), void (*slot)(const void* place, void* argument), void* argument) noexcept {
  References references = {[](void* references, uintptr_t* place, uint32_t) {
                             auto& to = *static_cast<References*>(references);
                             if (*place != 0) to.slot(to.place_of(place), to.argument);
                           },
                           slot, argument, nullptr, nullptr};
  for (Thread* thread = *runtime_instance()->threads; thread != nullptr; thread = thread->next)
    if ((thread->state & Thread::kAttached) != 0) walk(*thread, frame, &references);
}

struct Told {
  void (*fn)(heap::HolderRoot kind, const void* place, uintptr_t address, bool interior, void* argument);
  void* argument;
};
struct HandleScan : ScanContext {
  Told told;
};

void report_handle(void** handle, ScanContext* context, uint32_t) noexcept {
  uint32_t type = handle_type(handle);
  if (*handle == nullptr || type == kDependent) return;
  Told& told = static_cast<HandleScan*>(context)->told;
  told.fn(is_weak_handle(type) ? heap::HolderRoot::kWeak : heap::HolderRoot::kHandle, handle, reinterpret_cast<uintptr_t>(*handle), false, told.argument);
}

void for_each_holding_root(void (*fn)(heap::HolderRoot kind, const void* place, uintptr_t address, bool interior, void* argument), void* argument) noexcept {
  HandleScan scan = {};
  scan.thread_count = 1;
  scan.told = {fn, argument};
  for_each_root(
      [](const Root& root, void* argument) {
        Told& told = *static_cast<Told*>(argument);
        told.fn(heap::HolderRoot::kStack, root.slot, reinterpret_cast<uintptr_t>(*root.slot), root.interior, told.argument);
      },
      &scan.told);
  scan_handles(kOldest, kOldest, &scan, report_handle);
  scan_pinning_handles(kOldest, kOldest, &scan, report_handle);
}

size_t own_frames(heap::FrameSeen* frames, size_t capacity) noexcept {
  Thread& thread = tls_CurrentThread;
  if ((thread.state & Thread::kAttached) == 0 || !Thread::is_frame(thread.deferred_frame)) return 0;
  // A suspension may have put its own address in the place of a return address; it will do so again.
  undo_hijack(&thread);
  StackIterator iterator;
  initialize_stack_walk(&iterator, &thread, thread.deferred_frame, StackIterator::kTraceFlags);
  begin_stack_walk(&iterator);
  size_t count = 0;
  while (iterator.ip != 0 && count < capacity) {
    MethodInfo method;
    if (describe(&iterator, thread, &frames[count], &method)) count++;
    find_method_of_frame(&iterator);
    next_frame(&iterator);
  }
  return count;
}

}  // namespace

const heap::HolderSupport holder_support = {for_each_frame, for_each_holding_root, own_frames};

}  // namespace freehold::runtime
