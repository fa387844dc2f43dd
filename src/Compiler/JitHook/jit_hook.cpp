// libfreehold_jit.so, named by `ilc --jitpath:`: stands in front of the official JIT. ilc resolves `jitStartup` and
// `getJit`; the other two functions are what a JIT exports besides, passed on for other hosts.
// Invariant: no call reaches a JIT that is not patched. When it cannot be, ilc ends here with exit code 1.
#include "patch.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <mutex>

namespace {

using freehold::jit::LoadedJit;
using freehold::jit::LoadStatus;

const LoadedJit& patched_jit() {
  static LoadedJit jit;
  static std::once_flag once;
  std::call_once(once, [] {
    const std::string path = freehold::jit::jit_path();
    jit = freehold::jit::load_and_patch(path.c_str());
    if (jit.status != LoadStatus::ok) {
      std::fflush(stdout);
      std::fprintf(stderr, "%s\n", freehold::jit::describe_failure(jit, path).c_str());
      std::fflush(stderr);
      // Not exit(): ilc's managed shutdown has nothing to save and might wait for this thread.
      _exit(1);
    }
  });
  return jit;
}

template <typename Function>
Function find_export(const char* name) {
  return reinterpret_cast<Function>(dlsym(patched_jit().library, name));
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) void jitStartup(void* host) { patched_jit().startup(host); }

__attribute__((visibility("default"))) void* getJit() { return patched_jit().get_jit(); }

// (LikelyRecord* out, u32 capacity, schema*, u32 schema count, u8* data, i32 il offset) -> u32 records written.
__attribute__((visibility("default"))) std::uint32_t getLikelyClasses(void* records, std::uint32_t capacity, void* schema, std::uint32_t schema_count,
                                                                      std::uint8_t* data, std::int32_t il_offset) {
  static const auto function = find_export<std::uint32_t (*)(void*, std::uint32_t, void*, std::uint32_t, std::uint8_t*, std::int32_t)>("getLikelyClasses");
  return function != nullptr ? function(records, capacity, schema, schema_count, data, il_offset) : 0;
}

__attribute__((visibility("default"))) std::uint32_t getLikelyMethods(void* records, std::uint32_t capacity, void* schema, std::uint32_t schema_count,
                                                                      std::uint8_t* data, std::int32_t il_offset) {
  static const auto function = find_export<std::uint32_t (*)(void*, std::uint32_t, void*, std::uint32_t, std::uint8_t*, std::int32_t)>("getLikelyMethods");
  return function != nullptr ? function(records, capacity, schema, schema_count, data, il_offset) : 0;
}

}  // extern "C"
