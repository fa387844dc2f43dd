// new and delete of C++. Thrown exceptions and new handlers need the C++ library, which a program without them does not have: it is found when it is needed.
#include <dlfcn.h>
#include <stdlib.h>

#include <new>

#include "heap.h"

// Weak, as the C++ library's own are: a program that has some of its own keeps those. NativeAOT's do, and call malloc.
#define EXPORTED __attribute__((visibility("default"), weak))

using namespace freehold::mesh;

namespace {

// Of the library that the caller is in, and those that it needs: the rest of the program may not see them (RTLD_LOCAL).
void* find_for(const char* name, const void* caller) noexcept {
  Dl_info info;
  if (dladdr(caller, &info) == 0 || info.dli_fname == nullptr) return nullptr;
  void* library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return nullptr;
  void* found = dlsym(library, name);
  dlclose(library);
  return found;
}

void* find(const char* name, const void* caller) noexcept {
  void* found = dlsym(RTLD_DEFAULT, name);
  return found != nullptr ? found : find_for(name, caller);
}

// A handler frees something, throws, or ends the process. Null when there is none.
std::new_handler handler(const void* caller) noexcept {
  static constexpr const char* kGetNewHandler = "_ZSt15get_new_handlerv";
  auto* get = reinterpret_cast<std::new_handler (*)()>(find(kGetNewHandler, caller));
  return get != nullptr ? get() : nullptr;
}

[[noreturn]] void throw_bad_alloc(const void* caller) {
  static constexpr const char* kThrowBadAlloc = "_ZSt17__throw_bad_allocv";
  if (auto* throw_it = reinterpret_cast<void (*)()>(find(kThrowBadAlloc, caller))) throw_it();
  os::fail_fast("no memory for operator new, and no C++ library to throw with", nullptr);
}

void* try_again(size_t size, size_t alignment, const void* caller) {
  while (true) {
    std::new_handler called = handler(caller);
    if (called == nullptr) throw_bad_alloc(caller);
    called();
    if (void* object = allocate_aligned(size, alignment)) return object;
  }
}

// The C++ library's own, not ours, which the rest of the program sees.
void* next_of(const char* name, const void* caller) noexcept {
  void* found = dlsym(RTLD_NEXT, name);
  return found != nullptr ? found : find_for(name, caller);
}

// The C++ library's calls our throwing one and catches what that throws, which takes its runtime.
void* try_again_quietly(size_t size, const void* caller) noexcept {
  static constexpr const char* kNew = "_ZnwmRKSt9nothrow_t";
  auto* next = reinterpret_cast<void* (*)(size_t, const std::nothrow_t&) noexcept>(next_of(kNew, caller));
  return next != nullptr ? next(size, std::nothrow_t{}) : nullptr;
}

void* try_again_quietly(size_t size, std::align_val_t alignment, const void* caller) noexcept {
  static constexpr const char* kNew = "_ZnwmSt11align_val_tRKSt9nothrow_t";
  auto* next = reinterpret_cast<void* (*)(size_t, std::align_val_t, const std::nothrow_t&) noexcept>(next_of(kNew, caller));
  return next != nullptr ? next(size, alignment, std::nothrow_t{}) : nullptr;
}

[[gnu::always_inline]] inline void* make(size_t size) {
  void* object = allocate(size);
  return __builtin_expect(object != nullptr, 1) ? object : try_again(size, kAlignment, __builtin_return_address(0));
}

[[gnu::always_inline]] inline void* make(size_t size, std::align_val_t alignment) {
  void* object = allocate_aligned(size, static_cast<size_t>(alignment));
  return __builtin_expect(object != nullptr, 1) ? object : try_again(size, static_cast<size_t>(alignment), __builtin_return_address(0));
}

[[gnu::always_inline]] inline void* make_quietly(size_t size) noexcept {
  void* object = allocate(size);
  return __builtin_expect(object != nullptr, 1) ? object : try_again_quietly(size, __builtin_return_address(0));
}

[[gnu::always_inline]] inline void* make_quietly(size_t size, std::align_val_t alignment) noexcept {
  void* object = allocate_aligned(size, static_cast<size_t>(alignment));
  return __builtin_expect(object != nullptr, 1) ? object : try_again_quietly(size, alignment, __builtin_return_address(0));
}

}  // namespace

EXPORTED void* operator new(size_t size) { return make(size); }
EXPORTED void* operator new[](size_t size) { return make(size); }
EXPORTED void* operator new(size_t size, const std::nothrow_t&) noexcept { return make_quietly(size); }
EXPORTED void* operator new[](size_t size, const std::nothrow_t&) noexcept { return make_quietly(size); }
EXPORTED void* operator new(size_t size, std::align_val_t alignment) { return make(size, alignment); }
EXPORTED void* operator new[](size_t size, std::align_val_t alignment) { return make(size, alignment); }
EXPORTED void* operator new(size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept { return make_quietly(size, alignment); }
EXPORTED void* operator new[](size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept { return make_quietly(size, alignment); }
EXPORTED void operator delete(void* object) noexcept { deallocate(object); }
EXPORTED void operator delete[](void* object) noexcept { deallocate(object); }
EXPORTED void operator delete(void* object, size_t) noexcept { deallocate(object); }
EXPORTED void operator delete[](void* object, size_t) noexcept { deallocate(object); }
EXPORTED void operator delete(void* object, const std::nothrow_t&) noexcept { deallocate(object); }
EXPORTED void operator delete[](void* object, const std::nothrow_t&) noexcept { deallocate(object); }
EXPORTED void operator delete(void* object, std::align_val_t) noexcept { deallocate(object); }
EXPORTED void operator delete[](void* object, std::align_val_t) noexcept { deallocate(object); }
EXPORTED void operator delete(void* object, size_t, std::align_val_t) noexcept { deallocate(object); }
EXPORTED void operator delete[](void* object, size_t, std::align_val_t) noexcept { deallocate(object); }
EXPORTED void operator delete(void* object, std::align_val_t, const std::nothrow_t&) noexcept { deallocate(object); }
EXPORTED void operator delete[](void* object, std::align_val_t, const std::nothrow_t&) noexcept { deallocate(object); }
