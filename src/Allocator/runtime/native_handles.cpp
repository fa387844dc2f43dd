// The heap of handles, which is a library of its own (src/NativeBridge/Runtime): only a process that has loaded one has it.
#include "runtime/native_handles.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace freehold::runtime {

namespace {

// Null: no library of the process has loaded it. It stays once it is there. Takes the loader's lock.
template <typename Function>
Function find(const char* name) noexcept {
  void* library = dlopen("libfreehold_handles.so", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return nullptr;
  auto found = reinterpret_cast<Function>(dlsym(library, name));
  dlclose(library);
  return found;
}

}  // namespace

void read_handle_figures(uint64_t* values, size_t count) noexcept {
  std::fill_n(values, count, 0);
  if (auto ask = find<size_t (*)(uint64_t* values, size_t count)>("freehold_handles_statistics"); ask != nullptr) ask(values, count);
}

const char* verify_handles() noexcept {
  auto verify = find<const char* (*)()>("freehold_handles_verify");
  return verify != nullptr ? verify() : nullptr;
}

}  // namespace freehold::runtime
