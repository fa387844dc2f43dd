#include "reports.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>

#include "Platform/system_call.h"
#include "history.h"
#include "objects.h"
#include "os.h"
#include "owned_lock.h"
#include "places.h"
#include "stack_store.h"
#include "threads.h"

namespace freehold::bridge::reports {

namespace {

constexpr size_t kMostFrames = 48;  // walked, those of the runtime and of a handler included

// One message, which is written at once. Owner: who holds the lock.
class Message {
 public:
  void begin() noexcept { length_ = 0; }
  Message& add(const char* text) noexcept {
    for (; *text != '\0' && length_ < sizeof text_; text++) text_[length_++] = *text;
    return *this;
  }
  Message& number(uint64_t value, unsigned base = 10) noexcept {
    char digits[24];
    size_t n = sizeof digits;
    digits[--n] = '\0';
    do digits[--n] = "0123456789abcdef"[value % base];
    while ((value /= base) != 0);
    return add(digits + n);
  }
  Message& place(uintptr_t address) noexcept {
    places::Place place = places::of(address);
    if (place.module[0] == '\0') return add("0x").number(address, 16);
    add(place.module).add("+0x").number(place.offset, 16);
    if (place.function != nullptr) add(" (").add(place.function).add("+0x").number(place.function_offset, 16).add(")");
    return *this;
  }
  Message& bytes(uint64_t count) noexcept { return number(count).add(count == 1 ? " byte" : " bytes"); }
  void write() const noexcept {
    for (size_t written = 0; written < length_;) {
      long result = freehold::os::system_call(SYS_write, STDERR_FILENO, freehold::os::argument(text_ + written), static_cast<long>(length_ - written));
      if (result <= 0 && result != -EINTR) return;
      if (result > 0) written += static_cast<size_t>(result);
    }
  }

 private:
  char text_[32 * 1024];
  size_t length_ = 0;
};

OwnedLock lock;
Message message;
// Of the runtime itself, if it is a library: its frames say nothing. 0: it is in the program, as in tests.
uintptr_t own_module = 0;

// A return address is behind the call: the byte before it is in the call, and so in its function and line. `is_exact`: the first address is none.
uintptr_t call_before(uintptr_t address) noexcept { return address - 1; }

void add_stack(const uintptr_t* addresses, size_t count, bool is_exact) noexcept {
  auto is_own = [](uintptr_t address) { return own_module != 0 && places::of(call_before(address)).base == own_module; };
  size_t first = 0;
  while (first < count && is_own(addresses[first])) first++;
  if (first == count) first = 0;
  for (size_t i = first; i < count; i++) message.add("    ").place(i == 0 && is_exact ? addresses[i] : call_before(addresses[i])).add("\n");
}

void add_stack(uint32_t stack) noexcept {
  const uintptr_t* addresses;
  size_t count = stack_store::read(stack, &addresses);
  if (count == 0) {
    message.add("    not recorded").add(stack == stack_store::kLost ? ": the memory for stacks is full\n" : "\n");
  } else {
    add_stack(addresses, count, false);
  }
}

// What debug mode knows of it.
void add_history(uint32_t id) noexcept {
  if (!history::is_on()) return;
  const history::Object& object = history::of(id);
  if (object.size == 0) return;
  const char* end = history::has_stacks() ? ":\n" : "\n";
  message.add("  allocated by thread ").number(object.allocator).add(end);
  if (history::has_stacks()) add_stack(object.allocated);
  if (object.liberator == 0) return;
  message.add("  freed by thread ").number(object.liberator).add(end);
  if (history::has_stacks()) add_stack(object.freed);
}

// The stack of now. From that instruction on, if it is named: what is above is the handler.
void add_own_stack(const char* what, uintptr_t instruction) noexcept {
  if (!history::has_stacks()) return;
  void* addresses[kMostFrames];
  size_t count = stack_store::walk(addresses, kMostFrames), first = 0;
  auto* all = reinterpret_cast<const uintptr_t*>(addresses);
  if (instruction != 0) first = static_cast<size_t>(std::find(all, all + count, instruction) - all);
  message.add("  ").add(what).add(":\n");
  if (first == count) {
    message.add("    not known\n");
  } else {
    add_stack(all + first, std::min(count - first, stack_store::kDepth), instruction != 0);
  }
}

// Of a freed object, in bytes; 0: not known any more.
size_t freed_size(uint32_t id) noexcept {
  if (history::is_on() && history::of(id).liberator != 0) return history::of(id).size;
  // Ids that a thread has not given back yet. It may give them back meanwhile: then they are in the queue.
  for (Thread* thread = threads::first(); thread != nullptr; thread = thread->next) {
    const Ids& ids = thread->ids;
    if (std::find(ids.freed, ids.freed + std::min(ids.freed_count, kMostIds), id) != ids.freed + std::min(ids.freed_count, kMostIds)) return table.size_of(id);
  }
  return table.size_of_queued(id);
}

void add_freed(uint32_t id) noexcept {
  size_t size = freed_size(id);
  if (size != 0) {
    message.add(" of an object of ").bytes(size);
  } else {
    message.add(" of an object that was freed long ago (FREEHOLD_DEBUG=1 keeps its size)");
  }
}

// Where the handle leads, beside the start of its object.
void add_position(uint64_t handle) noexcept {
  uintptr_t start = objects::start_of(handle), at = HandleTable::translate(handle);
  uint64_t size = table.size_of(HandleTable::id_of(handle));
  if (at < start) {
    message.add(", ").bytes(start - at).add(" before an object of ").bytes(size);
  } else if (at - start >= size) {
    message.add(", ").bytes(at - start - size).add(" behind an object of ").bytes(size);
  } else {
    message.add(", ").bytes(at - start).add(" into an object of ").bytes(size);
  }
}

void begin(const char* what, uint64_t value) noexcept {
  // The report itself came here: looking for more would come here again.
  if (!lock.lock_unless_mine()) {
    message.add("\nfreehold: a second mistake ended this report\n").write();
    abort();
  }
  message.begin();
  message.add("freehold: ").add(what).add((value & kHandleBit) != 0 ? ": handle " : ": address ").number(value, 16);
  if ((value & kHandleBit) == 0) return;
  uint32_t id = HandleTable::id_of(value);
  message.add(" (id ").number(id).add(")");
  if (HandleTable::is_live(value)) {
    add_position(value);
  } else if (table.was_given_out(id)) {
    add_freed(id);
  }
}

// A handler of SIGABRT may jump and go on: the lock does not stay.
[[noreturn]] void end() noexcept {
  message.write();
  lock.unlock();
  abort();
}

uint64_t thread_number() noexcept { return static_cast<uint64_t>(freehold::os::system_call(SYS_gettid)); }

bool has_history(uint64_t value) noexcept { return (value & kHandleBit) != 0 && table.was_given_out(HandleTable::id_of(value)); }

}  // namespace

void initialize() noexcept {
  places::initialize();
  // Another thread may be in the middle of a report, and stay there while nobody reads it.
  pthread_atfork(nullptr, nullptr, [] { lock.after_fork_in_child(); });
  auto module = [](auto* function) { return places::of(reinterpret_cast<uintptr_t>(function)); };
  places::Place own = module(&initialize);
  places::Place program = places::of(getauxval(AT_ENTRY));
  if (own.base != program.base) own_module = own.base;
}

void end_by_instruction(uint64_t handle, const void* instruction) noexcept {
  auto address = reinterpret_cast<uintptr_t>(instruction);
  begin("use after free", handle);
  message.add(", by the instruction at ").place(address).add(" in thread ").number(thread_number()).add("\n");
  add_history(HandleTable::id_of(handle));
  add_own_stack("used", address);
  end();
}

void end_by_call(const char* what, uint64_t value, const void* caller) noexcept {
  begin(what, value);
  if (caller != nullptr) message.add(", by the call at ").place(call_before(reinterpret_cast<uintptr_t>(caller)));
  message.add(" in thread ").number(thread_number()).add("\n");
  if (has_history(value)) add_history(HandleTable::id_of(value));
  add_own_stack("called", 0);
  end();
}

}  // namespace freehold::bridge::reports
