#include "os/failure_injection.h"

namespace freehold::os {

namespace {

constexpr const char* kNames[Failures<Call>::kCalls] = {"mmap", "mprotect", "mremap", "madvise", "userfaultfd", "register", "membarrier", "probe"};

}  // namespace

constinit Failures<Call> failures(kNames);

}  // namespace freehold::os
