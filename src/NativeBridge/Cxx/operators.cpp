// Operators new and delete of compiled C++ code. Apart from the runtime because they throw: linked into each program and library.
#include <cstddef>
#include <new>

extern "C" {
void* __freehold_malloc(size_t size);
void* __freehold_aligned_alloc(size_t alignment, size_t size);
void __freehold_free(void* pointer);
}

namespace {

template <typename Allocate>
void* allocate(Allocate attempt) {
  while (true) {
    if (void* made = attempt()) return made;
    std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();
  }
}

template <typename Allocate>
void* allocate_or_null(Allocate attempt) noexcept {
  try {
    return allocate(attempt);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

}  // namespace

// Weak: a program that replaces an operator has a definition of its own under this name (Compiler/prepare.cpp).
#define FREEHOLD_OPERATOR __attribute__((weak, visibility("hidden")))

extern "C" {

FREEHOLD_OPERATOR void* __freehold_new(size_t size) {
  return allocate([=] { return __freehold_malloc(size); });
}
FREEHOLD_OPERATOR void* __freehold_new_nothrow(size_t size, const std::nothrow_t&) {
  return allocate_or_null([=] { return __freehold_malloc(size); });
}
FREEHOLD_OPERATOR void* __freehold_new_aligned(size_t size, size_t alignment) {
  return allocate([=] { return __freehold_aligned_alloc(alignment, size); });
}
FREEHOLD_OPERATOR void* __freehold_new_aligned_nothrow(size_t size, size_t alignment, const std::nothrow_t&) {
  return allocate_or_null([=] { return __freehold_aligned_alloc(alignment, size); });
}
FREEHOLD_OPERATOR void __freehold_delete(void* pointer) { __freehold_free(pointer); }
FREEHOLD_OPERATOR void __freehold_delete_sized(void* pointer, size_t) { __freehold_free(pointer); }
FREEHOLD_OPERATOR void __freehold_delete_sized_aligned(void* pointer, size_t, size_t) { __freehold_free(pointer); }
FREEHOLD_OPERATOR void __freehold_delete_nothrow(void* pointer, const std::nothrow_t&) { __freehold_free(pointer); }
}
