// The walk is the runtime's own: its iterator knows how to pass funclets, exceptions in flight and native frames in between. It needs the registers of
// the innermost managed frame. For an allocation they are in the frame that the allocation helpers make. Deletion is a plain call and makes none:
// then the libunwind that the runtime brings along finds them on the way out of the heap.
//
// Both take a microsecond a frame. So a stack is compared with those that are known before it is walked (heap/known_stacks.h).
#include "runtime/stack_trace.h"

#include "heap/known_stacks.h"
#include "runtime/runtime_imports.h"

namespace freehold::runtime {

namespace {

// Numbers of registers, of libunwind.
enum : int32_t { kIp = -1, kSp = -2, kRbx = 3, kRbp = 6, kR12 = 12, kR13 = 13, kR14 = 14, kR15 = 15 };

// A return address lies below what is the stack pointer once it was returned to.
uintptr_t slot_below(uintptr_t stack_pointer) noexcept { return stack_pointer - sizeof(uintptr_t); }

// Steps out of native code. False when there is no managed caller.
bool find_managed_caller(LimitedContext* context, heap::WalkedStack* walked) noexcept {
  constexpr int kNativeFrames = 64;
  UnwindContext here;
  UnwindCursor cursor;
  if (unwind_here(&here) != 0 || unwind_initialize(&cursor, &here) != 0) return false;
  auto get = [&](int32_t number) noexcept {
    uintptr_t value = 0;
    unwind_register(&cursor, number, &value);
    return value;
  };
  for (int frame = 0; frame < kNativeFrames; frame++) {
    if (unwind_step(&cursor) <= 0) return false;
    if (!is_managed_code(get(kIp))) {
      walked->add(slot_below(get(kSp)), get(kIp), false);
      continue;
    }
    *context = {.ip = get(kIp),
                .stack_pointer = get(kSp),
                .rbp = get(kRbp),
                .rax = 0,
                .rbx = get(kRbx),
                .rdx = 0,
                .r12 = get(kR12),
                .r13 = get(kR13),
                .r14 = get(kR14),
                .r15 = get(kR15)};
    return true;
  }
  return false;
}

}  // namespace

// Not inlined: its frame is where the stacks of deletions begin.
[[gnu::noinline]] size_t walk_stack(heap::StackOf what, uintptr_t* addresses, size_t capacity) noexcept {
  Thread& thread = tls_CurrentThread;
  if ((thread.state & Thread::kAttached) == 0) return 0;
  // A suspension may have put its own address in the place of a return address; it will do so again.
  undo_hijack(&thread);
  StackIterator iterator;
  LimitedContext context;
  auto start = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  if (what == heap::StackOf::kAllocation) {
    if (!Thread::is_frame(thread.deferred_frame)) return 0;
    initialize_stack_walk(&iterator, &thread, thread.deferred_frame, StackIterator::kTraceFlags);
    start = slot_below(iterator.registers.stack_pointer);
  }
  if (size_t known = heap::find_known_stack(what, &thread, start, addresses, capacity); known != 0) return known;
  heap::WalkedStack walked(start);
  if (what == heap::StackOf::kDeletion) {
    if (!find_managed_caller(&context, &walked)) return 0;
    initialize_stack_walk(&iterator, &thread, &context, StackIterator::kTraceFlags);
  }
  size_t count = 0;
  begin_stack_walk(&iterator);
  while (iterator.ip != 0) {
    addresses[count++] = iterator.ip;
    walked.add(slot_below(iterator.registers.stack_pointer), iterator.ip, true);
    if (count == capacity) break;
    find_method_of_frame(&iterator);
    next_frame(&iterator);
  }
  heap::remember_known_stack(what, &thread, walked, capacity);
  return count;
}

}  // namespace freehold::runtime
