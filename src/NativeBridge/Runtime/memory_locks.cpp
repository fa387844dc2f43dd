// mlockall would make all of the table and of the heap present, most of which is only reserved: so what it locks is locked as it is touched.
#include "memory_locks.h"

#include <dlfcn.h>
#include <sys/mman.h>

#include "redirections.h"

extern "C" __attribute__((visibility("default"))) int mlockall(int flags) noexcept {
  static auto* next = reinterpret_cast<int (*)(int)>(dlsym(RTLD_NEXT, "mlockall"));
  return next((flags & (MCL_CURRENT | MCL_FUTURE)) != 0 ? flags | static_cast<int>(MCL_ONFAULT) : flags);
}
// This library's, whoever stands in front.
extern "C" int freehold_own_mlockall(int flags) noexcept __attribute__((copy(mlockall), alias("mlockall"), visibility("hidden")));

namespace freehold::bridge {

void redirect_memory_locks() noexcept {
  Redirection one = {"mlockall", reinterpret_cast<void*>(&freehold_own_mlockall), dlsym(RTLD_NEXT, "mlockall")};
  redirect(&one, 1);
}

}  // namespace freehold::bridge
