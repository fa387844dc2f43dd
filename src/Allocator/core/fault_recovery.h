// Reads and writes that may meet a page that is gone. Each such instruction has an entry in the section freehold_recovery: when it faults, the
// fault handler resumes at the entry's second address. (The idea is the Linux kernel's exception table.)
#pragma once

#include <cstdint>

namespace freehold::core {

// Addresses relative to the field itself, so that the table needs no relocation.
struct RecoveryEntry {
  int32_t instruction;
  int32_t recovery;
};

// Where to resume after a fault at `instruction`; 0 when it has no entry. Signal-safe.
uintptr_t find_recovery(uintptr_t instruction) noexcept;

#define FREEHOLD_RECOVERY_ENTRY                          \
  ".pushsection freehold_recovery,\"aR\",@progbits\n\t"  \
  ".balign 4\n\t.long 1b - .\n\t.long %l[fault] - .\n\t" \
  ".popsection\n\t"

// Each returns false when the page is gone.
[[gnu::always_inline]] inline bool try_load(const uint64_t* address, uint64_t* value) noexcept {
  uint64_t loaded;
  asm volatile goto("1: mov %1, %0\n\t" FREEHOLD_RECOVERY_ENTRY : "=r"(loaded) : "m"(*address) : "memory" : fault);
  *value = loaded;
  return true;
fault:
  return false;
}

[[gnu::always_inline]] inline bool try_load(const uint32_t* address, uint32_t* value) noexcept {
  uint32_t loaded;
  asm volatile goto("1: mov %1, %0\n\t" FREEHOLD_RECOVERY_ENTRY : "=r"(loaded) : "m"(*address) : "memory" : fault);
  *value = loaded;
  return true;
fault:
  return false;
}

[[gnu::always_inline]] inline bool try_store(uint32_t* address, uint32_t value) noexcept {
  asm volatile goto("1: movl %0, %1\n\t" FREEHOLD_RECOVERY_ENTRY : : "ri"(value), "m"(*address) : "memory" : fault);
  return true;
fault:
  return false;
}

// Compare-and-swap of a word; `swapped` tells the outcome.
[[gnu::always_inline]] inline bool try_compare_and_swap(uint32_t* address, uint32_t expected, uint32_t desired, bool* swapped) noexcept {
  uint32_t seen = expected;
  asm volatile goto("1: lock cmpxchgl %2, (%1)\n\t" FREEHOLD_RECOVERY_ENTRY : "+a"(seen) : "r"(address), "r"(desired) : "memory", "cc" : fault);
  *swapped = seen == expected;
  return true;
fault:
  return false;
}

[[gnu::always_inline]] inline bool try_compare_and_swap(uint64_t* address, uint64_t expected, uint64_t desired, bool* swapped) noexcept {
  uint64_t seen = expected;
  asm volatile goto("1: lock cmpxchgq %2, (%1)\n\t" FREEHOLD_RECOVERY_ENTRY : "+a"(seen) : "r"(address), "r"(desired) : "memory", "cc" : fault);
  *swapped = seen == expected;
  return true;
fault:
  return false;
}

}  // namespace freehold::core
