// Failures of system calls that a test asks for. Any thread, no locks; nothing is injected unless somebody asks before there are other threads.
#pragma once

#include <cstddef>
#include <cstdint>

namespace freehold::os {

enum class Call : uint8_t { kMmap, kMprotect, kMremap, kMadvise, kUserfaultfd, kRegister, kMembarrier, kProbe, kCount };
inline constexpr size_t kCallCount = static_cast<size_t>(Call::kCount);

// Counts the call; true when the test wants it to fail, with errno as the kernel would set it.
bool injected_failure(Call call) noexcept;

// `specification` is a list CALL:N[+],… (the N-th call fails, with + all from there on); false when malformed.
bool inject_failures(const char* specification) noexcept;
uint64_t call_count(Call call) noexcept;

}  // namespace freehold::os
