// What the library shows: the functions that compiled code calls, and those of the allocator, which it stands in front of. The beginning and the end.
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include <atomic>

#include "Platform/files.h"
#include "knobs.h"
#include "recorder.h"

#define FREEHOLD_SHOWN __attribute__((visibility("default")))

using freehold::profile::recorder;

namespace {

// A function of the allocator behind.
template <typename Function>
class Next {
 public:
  explicit constexpr Next(const char* name) noexcept : name_(name) {}
  template <typename... Arguments>
  auto operator()(Arguments... arguments) noexcept {
    Function function = found_.load(std::memory_order_relaxed);
    return (function != nullptr ? function : find())(arguments...);
  }

 private:
  [[gnu::noinline]] Function find() noexcept {
    auto function = reinterpret_cast<Function>(dlsym(RTLD_NEXT, name_));
    if (function == nullptr) {
      freehold::os::write_error("freehold: the process has no allocator behind that of heap profiles\n");
      abort();
    }
    found_.store(function, std::memory_order_relaxed);
    return function;
  }
  const char* name_;
  std::atomic<Function> found_{nullptr};
};
constinit Next<void* (*)(size_t)> next_malloc("malloc");
constinit Next<void*(*)(size_t, size_t)> next_calloc("calloc"), next_memalign("memalign");
constinit Next<void* (*)(void*, size_t)> next_realloc("realloc");
constinit Next<void (*)(void*)> next_free("free");
constinit Next<size_t (*)(void*)> next_usable_size("malloc_usable_size");

void* noted(void* made, size_t size) noexcept {
  if (made != nullptr && recorder.is_on()) recorder.allocated(made, size, next_usable_size(made));
  return made;
}

bool is_power_of_two(size_t value) noexcept { return value != 0 && (value & (value - 1)) == 0; }

__attribute__((constructor)) void begin() {
  char error[512];
  if (!freehold::profile::read_knobs(environ, error, sizeof error)) {
    freehold::os::write_error("freehold: ");
    freehold::os::write_error(error);
    freehold::os::write_error("\n");
    _exit(1);
  }
  recorder.start(freehold::profile::knobs.path);
  if (!recorder.is_on()) return;
  pthread_atfork([] { recorder.before_fork(); }, [] { recorder.after_fork_in_parent(); }, [] { recorder.after_fork_in_child(); });
  if (__freehold_profile.frames == nullptr) recorder.know_thread();
}

__attribute__((destructor)) void end() { recorder.write(); }

}  // namespace

extern "C" {

FREEHOLD_SHOWN freehold::profile::Frame* __freehold_profile_thread() noexcept { return recorder.know_thread(); }
// In coroutines, which may go on in another thread.
FREEHOLD_SHOWN freehold::profile::Frame* __freehold_profile_frames() noexcept {
  return __freehold_profile.frames != nullptr ? __freehold_profile.frames : recorder.know_thread();
}
void freehold_profile_access(uintptr_t address, uint64_t bytes) noexcept asm("freehold_profile_access") __attribute__((visibility("hidden"), used));
void freehold_profile_access(uintptr_t address, uint64_t bytes) noexcept { recorder.access(address, bytes); }

FREEHOLD_SHOWN void* malloc(size_t size) { return noted(next_malloc(size), size); }
FREEHOLD_SHOWN void* calloc(size_t count, size_t size) { return noted(next_calloc(count, size), count * size); }
FREEHOLD_SHOWN void* memalign(size_t alignment, size_t size) { return noted(next_memalign(alignment, size), size); }
FREEHOLD_SHOWN void* aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
FREEHOLD_SHOWN void* valloc(size_t size) { return memalign(freehold::os::kPageSize, size); }
FREEHOLD_SHOWN void* pvalloc(size_t size) { return memalign(freehold::os::kPageSize, (size + freehold::os::kPageSize - 1) & ~(freehold::os::kPageSize - 1)); }
FREEHOLD_SHOWN int posix_memalign(void** made, size_t alignment, size_t size) {
  if (!is_power_of_two(alignment) || alignment % sizeof(void*) != 0) return EINVAL;
  int before = errno;
  void* memory = memalign(alignment, size);
  errno = before;
  if (memory == nullptr) return ENOMEM;
  *made = memory;
  return 0;
}
FREEHOLD_SHOWN void free(void* pointer) {
  if (pointer != nullptr && recorder.is_on()) recorder.freed(pointer, next_usable_size(pointer));
  next_free(pointer);
}
FREEHOLD_SHOWN void* realloc(void* pointer, size_t size) {
  if (pointer == nullptr) return malloc(size);
  if (!recorder.is_on()) return next_realloc(pointer, size);
  if (size == 0) {
    free(pointer);
    return nullptr;
  }
  return recorder.reallocated(
      pointer, next_usable_size(pointer), size, [&] { return next_realloc(pointer, size); }, [](void* made) { return next_usable_size(made); });
}
FREEHOLD_SHOWN void* reallocarray(void* pointer, size_t count, size_t size) {
  size_t all;
  if (__builtin_mul_overflow(count, size, &all)) {
    errno = ENOMEM;
    return nullptr;
  }
  return realloc(pointer, all);
}

}  // extern "C"

// What compiled code calls when its countdown is over, with LLVM's convention preserve_most: all general registers stay but r11. The pointer in rdi, the bytes in rsi.
asm(R"(
  .text
  .p2align 4
  .globl __freehold_profile_access
  .type __freehold_profile_access, @function
__freehold_profile_access:
  .cfi_startproc
  push %rax
  push %rcx
  push %rdx
  push %rsi
  push %rdi
  push %r8
  push %r9
  push %r10
  .cfi_adjust_cfa_offset 64
  sub $8, %rsp
  .cfi_adjust_cfa_offset 8
  call freehold_profile_access
  add $8, %rsp
  pop %r10
  pop %r9
  pop %r8
  pop %rdi
  pop %rsi
  pop %rdx
  pop %rcx
  pop %rax
  .cfi_adjust_cfa_offset -72
  ret
  .cfi_endproc
  .size __freehold_profile_access, . - __freehold_profile_access
)");
