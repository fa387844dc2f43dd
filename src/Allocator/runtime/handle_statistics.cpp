// The figures of the heap of handles, which is a library of its own (src/NativeBridge/Runtime): only a process that has loaded one has it.
#include <dlfcn.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "runtime/abi.h"

// The loader's lock is the reason why it is a blocking call.
void freehold_get_handle_statistics(uint64_t* values, int32_t count) noexcept {
  std::fill_n(values, count, 0);
  void* library = dlopen("libfreehold_handles.so", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return;
  using Ask = size_t (*)(uint64_t* values, size_t count);
  if (auto ask = reinterpret_cast<Ask>(dlsym(library, "freehold_handles_statistics")); ask != nullptr) ask(values, static_cast<size_t>(count));
  dlclose(library);
}
