// mlockall would make all of the table and of the heap present, most of which is only reserved: so what it locks is locked as it is touched.
#include <dlfcn.h>
#include <sys/mman.h>

extern "C" __attribute__((visibility("default"))) int mlockall(int flags) noexcept {
  static auto* next = reinterpret_cast<int (*)(int)>(dlsym(RTLD_NEXT, "mlockall"));
  return next((flags & (MCL_CURRENT | MCL_FUTURE)) != 0 ? flags | static_cast<int>(MCL_ONFAULT) : flags);
}
