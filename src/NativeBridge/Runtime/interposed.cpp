// The C library's own names of the functions that free: code that was not compiled with handles may be given one to free, or the address of an
// object behind one. Memory that such code allocates stays the C library's.
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>

#include "objects.h"
#include "raw_memory.h"
#include "runtime.h"
#include "threads.h"

extern "C" {
// glibc exports its allocator under these names too.
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* pointer, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
void __libc_free(void* pointer);
}

namespace freehold::bridge {

namespace raw_memory {

void* allocate(size_t size, size_t alignment, bool zeroed) noexcept {
  if (alignment > 16) {
    void* made = __libc_memalign(alignment, size);
    if (made != nullptr && zeroed) __builtin_memset(made, 0, size);
    return made;
  }
  return zeroed ? __libc_calloc(1, size) : __libc_malloc(size);
}
void* reallocate(void* pointer, size_t size) noexcept { return __libc_realloc(pointer, size); }
void free(void* pointer) noexcept { __libc_free(pointer); }
size_t usable_size(void* pointer) noexcept {
  using Function = size_t (*)(void*);
  static std::atomic<Function> found{nullptr};
  Function function = found.load(std::memory_order_relaxed);
  if (function == nullptr) {
    function = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "malloc_usable_size"));
    found.store(function, std::memory_order_relaxed);
  }
  return function(pointer);
}

}  // namespace raw_memory

namespace {
bool is_ours(void* pointer) noexcept { return is_initialized() && ((reinterpret_cast<uint64_t>(pointer) & kHandleBit) != 0 || objects::contains(pointer)); }
}  // namespace

}  // namespace freehold::bridge

using namespace freehold::bridge;

extern "C" {

__attribute__((visibility("default"))) void free(void* pointer) {
  if (!is_ours(pointer)) return __libc_free(pointer);
  threads::Inside inside;
  __freehold_free(pointer);
}

__attribute__((visibility("default"))) void* realloc(void* pointer, size_t size) {
  if (!is_ours(pointer)) return __libc_realloc(pointer, size);
  // The caller keeps what it gets as an address, so that is plain memory.
  threads::Inside inside;
  void* handle = objects::handle_at(pointer);
  size_t old = objects::usable_size(handle);
  if (size == 0) {
    __freehold_free(handle);
    return nullptr;
  }
  void* made = __libc_malloc(size);
  if (made == nullptr) return nullptr;
  __builtin_memcpy(made, reinterpret_cast<void*>(HandleTable::translate(reinterpret_cast<uint64_t>(handle))), size < old ? size : old);
  __freehold_free(handle);
  return made;
}

__attribute__((visibility("default"))) size_t malloc_usable_size(void* pointer) {
  if (!is_ours(pointer)) return pointer == nullptr ? 0 : raw_memory::usable_size(pointer);
  threads::Inside inside;
  return objects::usable_size(pointer);
}

}  // extern "C"
