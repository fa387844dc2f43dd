// The C library's own names of the functions that free: code that was not compiled with handles may be given one to free, or the address of an
// object behind one. Memory that such code allocates stays that of the allocator which it has, the C library's or another one.
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/auxv.h>

#include <atomic>

#include "objects.h"
#include "os.h"
#include "raw_memory.h"
#include "redirections.h"
#include "runtime.h"
#include "threads.h"

// This library's, whoever stands in front.
extern "C" void freehold_own_free(void* pointer) __attribute__((copy(free), alias("free"), visibility("hidden")));
extern "C" void* freehold_own_realloc(void* pointer, size_t size) __attribute__((copy(realloc), alias("realloc"), visibility("hidden")));
extern "C" size_t freehold_own_usable_size(void* pointer) __attribute__((alias("malloc_usable_size"), visibility("hidden")));

namespace freehold::bridge {

namespace {

// Opened by a program that was not compiled with handles, this library stands in front of nobody: the C library and uncompiled code allocate from what the whole process has, which may be
// the executable's own. Else from what stands behind this library.
void* find_function(const char* name) noexcept {
  // What everybody sees. RTLD_DEFAULT would add what was opened together with this library.
  void* everybody = dlopen(nullptr, RTLD_LAZY);
  bool is_linked = everybody == nullptr || dlsym(everybody, "free") == reinterpret_cast<void*>(freehold_own_free) ||
                   dlsym(everybody, "__freehold_free") == reinterpret_cast<void*>(__freehold_free);
  if (everybody != nullptr) dlclose(everybody);
  return is_linked ? dlsym(RTLD_NEXT, name) : behind_stub(name, dlsym(RTLD_DEFAULT, name));
}

// A function of the other allocator. Found at its first use, since the first may come before anything else runs; the others when the runtime begins: later a thread might wait here for one that
// loads a library, and that one for the end of a stop.
template <typename Function>
class Next {
 public:
  explicit constexpr Next(const char* name) noexcept : name_(name) {}
  template <typename... Arguments>
  auto operator()(Arguments... arguments) noexcept {
    Function function = found_.load(std::memory_order_relaxed);
    return (function != nullptr ? function : find())(arguments...);
  }

  [[gnu::noinline]] Function find() noexcept {
    auto function = reinterpret_cast<Function>(find_function(name_));
    if (function == nullptr) os::fail("freehold: the process has no function '%s'\n", name_);
    found_.store(function, std::memory_order_relaxed);
    return function;
  }

 private:
  const char* name_;
  std::atomic<Function> found_{nullptr};
};
constinit Next<void* (*)(size_t)> next_malloc("malloc");
constinit Next<void*(*)(size_t, size_t)> next_calloc("calloc"), next_memalign("memalign");
constinit Next<void* (*)(void*, size_t)> next_realloc("realloc");
constinit Next<void (*)(void*)> next_free("free");
constinit Next<size_t (*)(void*)> next_usable_size("malloc_usable_size");

}  // namespace

namespace raw_memory {

void* allocate(size_t size, size_t alignment, bool zeroed) noexcept {
  if (alignment > 16) {
    void* made = next_memalign(alignment, size);
    if (made != nullptr && zeroed) __builtin_memset(made, 0, size);
    return made;
  }
  return zeroed ? next_calloc(1, size) : next_malloc(size);
}
void* reallocate(void* pointer, size_t size) noexcept { return next_realloc(pointer, size); }
void free(void* pointer) noexcept { next_free(pointer); }
size_t usable_size(void* pointer) noexcept { return next_usable_size(pointer); }

namespace {
// Operators delete of what stands behind this library, if there is C++ at all. Uncompiled C++ may delete an object of the program (libstdc++ the characters of a path that grows), and those of
// another allocator do not come to free.
class NextDelete {
 public:
  explicit constexpr NextDelete(const char* name) noexcept : name_(name) {}
  void look() noexcept { found_.store(reinterpret_cast<Function>(dlsym(RTLD_NEXT, name_)), std::memory_order_relaxed); }
  // With as many words as any of them has.
  void operator()(void* pointer, uint64_t first, uint64_t second) noexcept {
    if (found_.load(std::memory_order_relaxed) == nullptr) look();
    Function function = found_.load(std::memory_order_relaxed);
    return function != nullptr ? function(pointer, first, second) : raw_memory::free(pointer);
  }

 private:
  using Function = void (*)(void*, uint64_t, uint64_t);
  const char* name_;
  std::atomic<Function> found_{nullptr};
};
#define FREEHOLD_DELETE(symbol) constinit NextDelete next_##symbol(#symbol);
#include "deletes.inc"
#undef FREEHOLD_DELETE
}  // namespace

void resolve() noexcept {
  next_malloc.find();
  next_calloc.find();
  next_memalign.find();
  next_realloc.find();
  next_free.find();
  next_usable_size.find();
  const Redirection all[] = {{"free", reinterpret_cast<void*>(freehold_own_free), reinterpret_cast<void*>(next_free.find())},
                             {"realloc", reinterpret_cast<void*>(freehold_own_realloc), reinterpret_cast<void*>(next_realloc.find())},
                             {"malloc_usable_size", reinterpret_cast<void*>(freehold_own_usable_size), reinterpret_cast<void*>(next_usable_size.find())}};
  redirect(all);
#define FREEHOLD_DELETE(symbol) next_##symbol.look();
#include "deletes.inc"
#undef FREEHOLD_DELETE
}

// Uncompiled code would give handles to one that stands in front. The program's own may: it is compiled with it.
void refuse_other_allocator() noexcept {
  void* first = dlsym(RTLD_DEFAULT, "free");
  Dl_info theirs, program;
  if (first == nullptr || first == reinterpret_cast<void*>(freehold_own_free) || dladdr(first, &theirs) == 0) return;
  // It is the one that this library uses too: a program that was not compiled with handles has opened it.
  if (first == find_function("free")) return;
  if (dladdr(reinterpret_cast<void*>(getauxval(AT_PHDR)), &program) != 0 && program.dli_fbase == theirs.dli_fbase) return;
  os::fail(
      "freehold: the allocator of %s stands in front of that of handles, and would be given handles to free. Do not preload it: a program that is linked with "
      "it has "
      "it behind that of handles\n",
      theirs.dli_fname);
}

}  // namespace raw_memory

namespace {
bool is_ours(void* pointer) noexcept { return is_initialized() && ((reinterpret_cast<uint64_t>(pointer) & kHandleBit) != 0 || objects::contains(pointer)); }
}  // namespace

}  // namespace freehold::bridge

using namespace freehold::bridge;

extern "C" {

__attribute__((visibility("default"))) void free(void* pointer) {
  if (!is_ours(pointer)) return raw_memory::free(pointer);
  threads::Inside inside;
  free_for(pointer, __builtin_return_address(0));
}

__attribute__((visibility("default"))) void* realloc(void* pointer, size_t size) {
  if (!is_ours(pointer)) return raw_memory::reallocate(pointer, size);
  // The caller keeps what it gets as an address, so that is plain memory.
  threads::Inside inside;
  void* handle = objects::handle_at(pointer);
  objects::expect_start(handle, objects::kInRealloc, __builtin_return_address(0));
  size_t old = objects::usable_size(handle);
  if (size == 0) {
    free_for(handle, __builtin_return_address(0));
    return nullptr;
  }
  void* made = raw_memory::allocate(size, 16, false);
  if (made == nullptr) return nullptr;
  __builtin_memcpy(made, reinterpret_cast<void*>(HandleTable::translate(reinterpret_cast<uint64_t>(handle))), size < old ? size : old);
  free_for(handle, __builtin_return_address(0));
  return made;
}

__attribute__((visibility("default"))) size_t malloc_usable_size(void* pointer) {
  if (!is_ours(pointer)) return pointer == nullptr ? 0 : raw_memory::usable_size(pointer);
  threads::Inside inside;
  void* handle = objects::handle_at(pointer);
  objects::expect_start(handle, objects::kInUsableSize, __builtin_return_address(0));
  return objects::usable_size(handle);
}

#define FREEHOLD_DELETE(symbol)                                                                                    \
  __attribute__((visibility("default"))) void freehold_delete##symbol(void*, uint64_t, uint64_t) __asm__(#symbol); \
  void freehold_delete##symbol(void* pointer, uint64_t first, uint64_t second) {                                   \
    if (!is_ours(pointer)) return raw_memory::next_##symbol(pointer, first, second);                               \
    threads::Inside inside;                                                                                        \
    free_for(pointer, __builtin_return_address(0));                                                                \
  }
#include "deletes.inc"
#undef FREEHOLD_DELETE

}  // extern "C"
