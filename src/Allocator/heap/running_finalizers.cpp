#include "heap/running_finalizers.h"

#include <cstdint>

#include "heap/forwarding.h"

namespace freehold::heap {

namespace {

[[gnu::tls_model("initial-exec")]] thread_local constinit RunningFinalizer* innermost = nullptr;

}  // namespace

void begin_finalizer(RunningFinalizer* running) noexcept {
  running->outer = innermost;
  innermost = running;
}

void end_finalizer(const RunningFinalizer* running) noexcept { innermost = running->outer; }

bool is_finalizing(const void* object) noexcept {
  for (const RunningFinalizer* running = innermost; running != nullptr; running = running->outer) {
    if (is_same(reinterpret_cast<uintptr_t>(*running->object), reinterpret_cast<uintptr_t>(object))) return true;
  }
  return false;
}

}  // namespace freehold::heap
