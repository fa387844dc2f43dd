// malloc and its family, in place of the C library's.
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "Platform/memory_budget.h"
#include "forks.h"
#include "heap.h"
#include "knobs.h"
#include "statistics.h"

#define EXPORTED extern "C" __attribute__((visibility("default")))

extern "C" void GC_Initialize() __attribute__((weak));    // of the managed heap, in a .NET program
extern "C" void* __libc_stack_end __attribute__((weak));  // where the kernel put the arguments: below them the environment

namespace freehold::mesh {

// The first allocation may come before the C library has set `environ`.
void before_open() noexcept {
  const char* const* environment = environ;
  if (environment == nullptr && &__libc_stack_end != nullptr) {
    auto* stack = static_cast<uintptr_t*>(__libc_stack_end);
    environment = reinterpret_cast<const char* const*>(stack + 1 + stack[0] + 1);
  }
  watch_forks();
  // The managed heap plans with three quarters of the mappings that the kernel allows.
  knobs.beside_managed_heap = GC_Initialize != nullptr;
  if (knobs.beside_managed_heap) knobs.map_budget = os::maximal_mappings() / 8;
  // A managed heap tells of a limit that is no size, with its own settings.
  char error[512] = "The environment variable FREEHOLD_MEMORY_LIMIT is neither a size such as 512M or 4G nor none.";
  if ((freehold::os::read_memory_limit(environment) || knobs.beside_managed_heap) && read_knobs(environment, error, sizeof error)) return;
  os::write_error("freehold-mesh: ");
  os::write_error(error);
  os::write_error("\n");
  _exit(1);
}

}  // namespace freehold::mesh

using namespace freehold::mesh;

namespace {

inline void* or_error(void* object) noexcept {
  if (__builtin_expect(object == nullptr, 0)) errno = ENOMEM;
  return object;
}

bool is_power_of_two(size_t number) noexcept { return number != 0 && (number & (number - 1)) == 0; }

void print_statistics() noexcept {
  static char text[16'384];
  write_statistics(text, sizeof text - 1);
  strcat(text, "\n");
  os::write_error(text);
}

// Before other libraries' constructors, as far as the linker can say so: for a program that allocates nothing before one of them registers handlers of fork.
__attribute__((constructor(101))) void start() noexcept {
  watch_forks();
  look_up_functions();
  open_heap();
  if (knobs.statistics) atexit(print_statistics);
}

}  // namespace

EXPORTED void* malloc(size_t size) { return or_error(allocate(size)); }
EXPORTED void free(void* object) { deallocate(object); }
EXPORTED void cfree(void* object) { deallocate(object); }
EXPORTED void* calloc(size_t count, size_t size) { return or_error(allocate_zeroed(count, size)); }

EXPORTED void* realloc(void* object, size_t size) {
  if (object != nullptr && size == 0) {
    deallocate(object);
    return nullptr;
  }
  return or_error(reallocate(object, size));
}

EXPORTED void* reallocarray(void* object, size_t count, size_t size) {
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) return or_error(nullptr);
  return realloc(object, bytes);
}

EXPORTED int posix_memalign(void** result, size_t alignment, size_t size) {
  if (alignment % sizeof(void*) != 0 || !is_power_of_two(alignment)) return EINVAL;
  void* object = allocate_aligned(size, alignment);
  if (object == nullptr) return ENOMEM;
  *result = object;
  return 0;
}

EXPORTED void* aligned_alloc(size_t alignment, size_t size) {
  if (!is_power_of_two(alignment)) {
    errno = EINVAL;
    return nullptr;
  }
  return or_error(allocate_aligned(size, alignment));
}

EXPORTED void* memalign(size_t alignment, size_t size) {
  // The C library takes any number, and means the next power of two.
  if (alignment > SIZE_MAX / 2 + 1) {
    errno = EINVAL;
    return nullptr;
  }
  while (alignment != 0 && !is_power_of_two(alignment)) alignment += alignment & -alignment;
  return or_error(allocate_aligned(size, alignment));
}

EXPORTED void* valloc(size_t size) { return or_error(allocate_aligned(size, os::kPageSize)); }
EXPORTED void* pvalloc(size_t size) {
  size_t rounded = (size + os::kPageSize - 1) & -os::kPageSize;
  return or_error(rounded < size ? nullptr : allocate_aligned(rounded, os::kPageSize));
}

EXPORTED size_t malloc_usable_size(void* object) { return object == nullptr ? 0 : usable_size(object); }
EXPORTED int malloc_trim(size_t) { return compact() != 0; }
EXPORTED int mallopt(int, int) { return 1; }

EXPORTED struct mallinfo2 mallinfo2(void) {
  Statistics s = read_statistics();
  struct mallinfo2 information = {};
  information.arena = s.used_bytes;
  information.uordblks = s.live_bytes;
  information.fordblks = s.free_bytes + s.cached_bytes;
  information.hblkhd = s.large_bytes;
  return information;
}

EXPORTED void malloc_stats(void) { print_statistics(); }
