// Loads a JIT and patches its copy in this process's memory; the file stays as it is.
// Invariant: `load_and_patch` either returns a JIT with all the changes of its version, or says why not; there is no third outcome.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "pattern.h"

namespace freehold::jit {

enum class LoadStatus {
  ok,
  not_loaded,      // dlopen failed
  no_code,         // the library has no executable segment
  pattern_absent,  // another JIT, or one that is patched already
  pattern_twice,   // not unique: which place to change is unknown
  protect_failed,  // mprotect refused (SELinux's execmod, seccomp)
  export_missing,  // jitStartup or getJit
};

struct LoadedJit {
  LoadStatus status = LoadStatus::not_loaded;
  std::string detail;  // what the system said, or how often a pattern was found
  void* library = nullptr;
  const KnownJit* known = nullptr;
  std::vector<std::uint8_t*> places;  // where its patches begin, in their order
  void (*startup)(void*) = nullptr;
  void* (*get_jit)() = nullptr;
};

// Not thread-safe against code running in the same library: call it before the JIT is started.
LoadedJit load_and_patch(const char* path);

// The JIT to load: `FREEHOLD_JIT`, else the official one in the folder of the running executable (ilc).
std::string jit_path();

// One line in MSBuild's canonical format: `error FH0007: cause. cure.`
std::string describe_failure(const LoadedJit& jit, const std::string& path);

}  // namespace freehold::jit
