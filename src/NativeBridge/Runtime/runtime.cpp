// What compiled code calls. Every function that a compiled function may reach through a pointer begins with the mark (abi.h).
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "Platform/process_page.h"
#include "budget.h"
#include "defragmenter.h"
#include "faults.h"
#include "history.h"
#include "knobs.h"
#include "memory_locks.h"
#include "objects.h"
#include "os.h"
#include "raw_memory.h"
#include "reports.h"
#include "runtime.h"
#include "scoped_pins.h"
#include "services.h"
#include "signals.h"
#include "stacks.h"
#include "threads.h"

namespace freehold::bridge {

namespace {
std::atomic<uint32_t> state{0};  // 0: not initialised, 1: somebody does it, 2: done
}

// Ends the process on one that is not allowed.
static void read_settings() noexcept {
  char error[512];
  if (!read_knobs(environ, error, sizeof error)) os::fail("freehold: %s\n", error);
}

void initialize() noexcept {
  if (state.load(std::memory_order_acquire) == 2) return;
  uint32_t none = 0;
  if (!state.compare_exchange_strong(none, 1, std::memory_order_acquire)) {
    while (state.load(std::memory_order_acquire) != 2) os::pause(10);
    return;
  }
  if (!table.initialize()) {
    const char* owner = freehold::os::owner_of_fixed_range(kTableBase, 2 * kIdLimit * sizeof(uint64_t));
    os::fail("freehold: the addresses from 0x100000 to 0x140000 or from 0x400100000 to 0x800100000 are taken%s%s, or no memory: handles have no table\n",
             owner != nullptr ? " by " : "", owner != nullptr ? owner : "");
  }
  freehold::os::note_fixed_range(kTableBase, 2 * kIdLimit * sizeof(uint64_t), "the table of handles");
  read_settings();
  choose_service(knobs.service);
  reports::initialize();
  if (knobs.debug) history::begin(knobs.stacks);
  if (!threads::initialize()) os::fail("freehold: no memory for threads\n");
  faults::initialize();
  raw_memory::refuse_other_allocator();
  raw_memory::resolve();
  resolve_jumps();
  resolve_signals();
  redirect_memory_locks();
  state.store(2, std::memory_order_release);
  defragmenter.initialize();
  budget::join();
}

bool is_initialized() noexcept { return state.load(std::memory_order_acquire) == 2; }

}  // namespace freehold::bridge

using namespace freehold::bridge;

namespace {

// Known, and inside: compiled code called. A function of the runtime that uncompiled code calls takes threads::Inside.
Thread& caller() noexcept { return threads::current(); }

// From an address to the handle that means the same byte; what is in no object stays. The end of one object may be the start of the next: it is
// taken for the end if it belongs to an object that the call was given, unless the next one is pinned. Uncompiled code can know addresses only of
// what is pinned.
template <typename Visit>
void* handle_of(Thread& thread, void* pointer, Visit for_each_given) noexcept {
  auto address = reinterpret_cast<uint64_t>(pointer);
  if ((address & kHandleBit) != 0 || address == 0) return pointer;
  auto found = reinterpret_cast<uint64_t>(objects::handle_at(pointer));
  if (found != address) {
    if (objects::start_of(found) != address) return reinterpret_cast<void*>(found);
    uint32_t id = HandleTable::id_of(found);
    bool is_pinned = table.is_pinned(id) || scoped_pins.has(id);
    thread.pins.for_each([&](uint64_t handle) { is_pinned |= (handle & kHandleBit) != 0 && HandleTable::id_of(handle) == id; });
    if (is_pinned) return reinterpret_cast<void*>(found);
  } else if (!objects::may_be_end(address)) {
    return pointer;
  }
  for_each_given([&](uint64_t handle) {
    if (!HandleTable::is_live(handle)) return;
    uint64_t start = objects::start_of(handle), at = HandleTable::translate(handle);
    if (address == start + objects::usable_size(reinterpret_cast<void*>(handle - (at - start)))) found = handle + (address - at);
  });
  return reinterpret_cast<void*>(found);
}

inline void free_object(void* pointer, const void* called_from) noexcept {
  if (pointer == nullptr) return;
  int saved = errno;
  objects::free(caller().ids, pointer, called_from);
  errno = saved;
}

inline void* reallocate_object(void* pointer, size_t size, const void* called_from) noexcept {
  if (size != 0 || pointer == nullptr) return objects::reallocate(caller().ids, pointer, size, called_from);
  free_object(pointer, called_from);
  return nullptr;
}

__attribute__((constructor(101))) void start() { initialize(); }

}  // namespace

void freehold::bridge::free_for(void* pointer, const void* called_from) noexcept { free_object(pointer, called_from); }

extern "C" {

// Around setjmp and vfork. The second return may come from uncompiled code, from other frames, out of handlers on any stack: the thread comes
// inside, and its records and handlers are those of the first.
uint64_t __freehold_returning_twice() {
  Thread& thread = caller();
  return uint64_t{thread.handlers} << 32 | thread.pins.depth();
}
void __freehold_returned(uint64_t before) {
  Thread& thread = caller();
  if (threads::is_outside(thread)) threads::enter(thread);
  thread.handlers = static_cast<uint32_t>(before >> 32);
  thread.pins.cut(static_cast<uint32_t>(before));
  if (threads::may_leave(thread)) thread.pins.drop_below(reinterpret_cast<uintptr_t>(__builtin_frame_address(0)));
}

// A thread enters compiled code from outside. Returns what __freehold_leave_compiled wants: 1 if it was outside.
uint32_t __freehold_enter_compiled() {
  initialize();
  Thread& thread = threads::current();
  if (!threads::is_outside(thread)) {
    __freehold_poll(nullptr);
    return 0;
  }
  if (thread.lacks_stack) threads::complete(thread);
  threads::enter(thread);
  return 1;
}
void __freehold_leave_compiled() { threads::leave_entry(threads::current()); }

// A landing pad: the unwinder, which is outside, has given control back.
void __freehold_landed() {
  Thread& thread = threads::current();
  if (threads::is_outside(thread)) threads::enter(thread);
  if (threads::may_leave(thread)) thread.pins.drop_below(reinterpret_cast<uintptr_t>(__builtin_frame_address(0)));
}

// The stop word is set. `pins`: what the calling loop has translated, or null.
void __freehold_poll(PinRecord* pins) {
  int saved = errno;
  Thread& thread = caller();
  // What a handler has interrupted may hold addresses that no record names.
  if (!threads::may_leave(thread)) return;
  thread.polls++;
  if (pins != nullptr) threads::link(thread, *pins);
  threads::leave(thread);
  defragmenter.at_poll(thread);
  threads::enter(thread);
  if (pins != nullptr) threads::unlink(thread, *pins);
  errno = saved;
}

// Before a call of code that was not compiled with handles.
void __freehold_call_out(PinRecord* record) {
  Thread& thread = caller();
  record->count = record->named() | uint64_t{thread.handlers} << 32;
  threads::link(thread, *record);
  if (threads::may_leave(thread)) threads::leave(thread);
}
void __freehold_call_back(PinRecord* record) { __freehold_call_back_with(record, nullptr); }
// With what the call returned: an address in an object becomes a handle.
void* __freehold_call_back_with(PinRecord* record, void* result) {
  Thread& thread = caller();
  if (result != nullptr) {
    result = __freehold_handle_from(record, result);
  } else if (threads::is_outside(thread)) {
    threads::enter(thread);
  }
  // The callee may have left a handler that interrupted compiled code which it had called.
  thread.handlers = static_cast<uint32_t>(record->count >> 32);
  threads::unlink(thread, *record);
  defragmenter.at_call(thread);
  return result;
}

// A handle that is passed on as an address; `slot` of a record keeps it in place.
void* __freehold_pin(void* pointer, void** slot) {
  uint64_t value = reinterpret_cast<uint64_t>(pointer);
  if (!HandleTable::is_live(value)) {
    *slot = nullptr;
    return pointer;
  }
  *slot = pointer;
  return reinterpret_cast<void*>(HandleTable::translate(value));
}
// The same for a callee that may keep the address.
void* __freehold_keep(void* pointer, void** slot) {
  uint64_t value = reinterpret_cast<uint64_t>(pointer);
  if (HandleTable::is_live(value)) {
    table.pin(HandleTable::id_of(value), HandleTable::kForever);
    escaped.fetch_add(1, std::memory_order_relaxed);
  }
  return __freehold_pin(pointer, slot);
}
// A pointer that uncompiled code passes to compiled code.
void* __freehold_handle(void* address) {
  Thread& thread = caller();
  return handle_of(thread, address, [&](auto visit) { thread.pins.for_each_of_newest(visit); });
}
// One that a call has returned, whose record is still linked.
void* __freehold_handle_from(PinRecord* record, void* address) {
  Thread& thread = caller();
  if (threads::is_outside(thread)) threads::enter(thread);
  return handle_of(thread, address, [&](auto visit) {
    for (uint32_t i = 0; i < record->named(); i++) visit(reinterpret_cast<uint64_t>(record->handles()[i]));
  });
}

// What compiled code returns to a caller outside: an address that stays one, when it is called back in the middle of something. The function
// that a thread began with returns to the C library, which hands the value to the program.
void* __freehold_result(void* pointer) {
  Thread& thread = caller();
  if (thread.pins.depth() == 0) return pointer;
  void* slot;
  return __freehold_keep(pointer, &slot);
}

void* __freehold_malloc(size_t size) { return objects::allocate(caller().ids, size, 16, false); }
void* __freehold_calloc(size_t count, size_t size) {
  size_t total;
  if (__builtin_mul_overflow(count, size, &total)) {
    errno = ENOMEM;
    return nullptr;
  }
  return objects::allocate(caller().ids, total, 16, true);
}
void __freehold_free(void* pointer) { free_object(pointer, __builtin_return_address(0)); }
void* __freehold_realloc(void* pointer, size_t size) { return reallocate_object(pointer, size, __builtin_return_address(0)); }
void* __freehold_reallocarray(void* pointer, size_t count, size_t size) {
  size_t total;
  if (__builtin_mul_overflow(count, size, &total)) {
    errno = ENOMEM;
    return nullptr;
  }
  return reallocate_object(pointer, total, __builtin_return_address(0));
}
void* __freehold_aligned_alloc(size_t alignment, size_t size) {
  if (alignment == 0 || (alignment & (alignment - 1)) != 0) {
    errno = EINVAL;
    return nullptr;
  }
  return objects::allocate(caller().ids, size, alignment < 16 ? 16 : alignment, false);
}
int __freehold_posix_memalign(void** result, size_t alignment, size_t size) {
  if (alignment % sizeof(void*) != 0 || alignment == 0 || (alignment & (alignment - 1)) != 0) return EINVAL;
  int saved = errno;
  void* made = __freehold_aligned_alloc(alignment, size);
  errno = saved;
  if (made == nullptr) return ENOMEM;
  *reinterpret_cast<void**>(HandleTable::translate(reinterpret_cast<uint64_t>(result))) = made;
  return 0;
}
size_t __freehold_malloc_usable_size(void* pointer) {
  if (pointer == nullptr) return 0;
  if ((reinterpret_cast<uint64_t>(pointer) & kHandleBit) == 0) {
    if (!objects::contains(pointer)) return objects::usable_size(pointer);
    pointer = objects::handle_at(pointer);
  }
  objects::expect_start(pointer, objects::kInUsableSize, __builtin_return_address(0));
  return objects::usable_size(pointer);
}

char* __freehold_strndup(const char* text, size_t limit) {
  auto* from = reinterpret_cast<const char*>(HandleTable::translate(reinterpret_cast<uint64_t>(text)));
  size_t size = strnlen(from, limit);
  void* copy = __freehold_malloc(size + 1);
  if (copy == nullptr) return nullptr;
  auto* to = reinterpret_cast<char*>(HandleTable::translate(reinterpret_cast<uint64_t>(copy)));
  memcpy(to, from, size);
  to[size] = '\0';
  return static_cast<char*>(copy);
}
char* __freehold_strdup(const char* text) { return __freehold_strndup(text, SIZE_MAX); }

}  // extern "C"

namespace freehold::bridge {
std::atomic<uint64_t> escaped{0};
}
