#include "platform/failure_injection.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <atomic>

namespace freehold::os {

namespace {

struct Injection {
  std::atomic<uint64_t> calls;
  uint64_t first_failure;  // 0 = never
  bool from_then_on;
};
Injection injections[kCallCount];
constexpr const char* kCallNames[kCallCount] = {"mmap", "mprotect", "mremap", "madvise", "userfaultfd", "register", "membarrier", "probe"};

}  // namespace

bool injected_failure(Call call) noexcept {
  Injection& injection = injections[static_cast<size_t>(call)];
  uint64_t n = injection.calls.fetch_add(1, std::memory_order_relaxed) + 1;
  if (injection.first_failure == 0 || n < injection.first_failure || (n > injection.first_failure && !injection.from_then_on)) return false;
  errno = ENOMEM;
  return true;
}

bool inject_failures(const char* specification) noexcept {
  const char* at = specification;
  while (*at != 0) {
    const char* colon = strchr(at, ':');
    if (colon == nullptr) return false;
    size_t call = 0;
    while (call < kCallCount &&
           (strlen(kCallNames[call]) != static_cast<size_t>(colon - at) || strncmp(kCallNames[call], at, static_cast<size_t>(colon - at)) != 0))
      call++;
    char* end = nullptr;
    uint64_t n = strtoull(colon + 1, &end, 10);
    if (call == kCallCount || end == colon + 1 || n == 0) return false;
    injections[call].from_then_on = *end == '+';
    if (*end == '+') end++;
    if (*end != 0 && *end != ',') return false;
    injections[call].calls.store(0);
    injections[call].first_failure = n;
    at = *end == ',' ? end + 1 : end;
  }
  return true;
}

uint64_t call_count(Call call) noexcept { return injections[static_cast<size_t>(call)].calls.load(std::memory_order_relaxed); }

}  // namespace freehold::os
