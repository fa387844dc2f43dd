// The calls of the managed half that a test can make fail (FREEHOLD_FAIL): Platform/failures.h.
#pragma once

#include "Platform/failures.h"

namespace freehold::os {

enum class Call : uint8_t { kMmap, kMprotect, kMremap, kMadvise, kUserfaultfd, kRegister, kMembarrier, kProbe, kCount };

extern Failures<Call> failures;
inline bool injected_failure(Call call) noexcept { return failures.fails(call); }
inline bool inject_failures(const char* specification) noexcept { return failures.inject(specification); }
inline uint64_t call_count(Call call) noexcept { return failures.count(call); }

}  // namespace freehold::os
