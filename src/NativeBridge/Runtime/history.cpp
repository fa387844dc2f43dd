#include "history.h"

#include "Platform/system_call.h"
#include "handle_table.h"
#include "os.h"
#include "services.h"
#include "stack_store.h"

namespace freehold::bridge::history {

namespace {

// By id. Who allocates or frees an object writes its own.
Object* objects;
bool with_stacks;
const freehold_service* behind;

uint32_t stack() noexcept { return with_stacks ? stack_store::remember() : stack_store::kNone; }

// A thread's number: not kept, as the child of a fork has another.
uint32_t thread_number() noexcept { return static_cast<uint32_t>(freehold::os::system_call(SYS_gettid)); }

int init() noexcept { return 0; }
void deinit() noexcept {}
void* alloc(uint32_t id, size_t size, size_t* alignment, int zeroed) noexcept {
  void* made = behind->alloc(id, size, alignment, zeroed);
  if (made != nullptr) objects[id] = {stack(), stack_store::kNone, thread_number(), 0, size};
  return made;
}
void* resize(uint32_t id, void* start, size_t size) noexcept {
  void* same = behind->realloc(id, start, size);
  if (same != nullptr) objects[id].size = size;
  return same;
}
int release(uint32_t id, void* address) noexcept {
  if (behind->free(id, address) == 0) return 0;
  objects[id].freed = stack();
  objects[id].liberator = thread_number();
  return 1;
}
size_t usable_size(void* address) noexcept { return behind->usable_size(address); }
uint32_t find(void* address, void** start) noexcept { return behind->find(address, start); }
void barrier(int everything) noexcept { behind->barrier(everything); }

constexpr freehold_service kRecorder = {FREEHOLD_SERVICE_VERSION, "recorder", init, deinit, alloc, resize, release, usable_size, find, barrier};

}  // namespace

void begin(bool stacks) noexcept {
  objects = static_cast<Object*>(os::map(kIdLimit * sizeof(Object)));
  if (objects == nullptr || (stacks && !stack_store::initialize())) os::fail("freehold: FREEHOLD_DEBUG: no address space for the history of freed objects\n");
  with_stacks = stacks;
  table.set_quarantine(HandleTable::kLongQuarantine);
  behind = interpose_service(&kRecorder);
}

bool is_on() noexcept { return behind != nullptr; }
bool has_stacks() noexcept { return with_stacks; }
const Object& of(uint32_t id) noexcept { return objects[id]; }

}  // namespace freehold::bridge::history
