#include "core/fault_recovery.h"

extern "C" const freehold::core::RecoveryEntry __start_freehold_recovery[];
extern "C" const freehold::core::RecoveryEntry __stop_freehold_recovery[];

namespace freehold::core {

uintptr_t find_recovery(uintptr_t instruction) noexcept {
  for (const RecoveryEntry* entry = __start_freehold_recovery; entry < __stop_freehold_recovery; entry++) {
    if (reinterpret_cast<uintptr_t>(&entry->instruction) + static_cast<intptr_t>(entry->instruction) == instruction) {
      return reinterpret_cast<uintptr_t>(&entry->recovery) + static_cast<intptr_t>(entry->recovery);
    }
  }
  return 0;
}

}  // namespace freehold::core
