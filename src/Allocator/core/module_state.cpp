#include "core/module_state.h"

extern "C" {
[[gnu::visibility("hidden")]] extern const freehold::core::ModuleState __start_freehold_states[];
[[gnu::visibility("hidden")]] extern const freehold::core::ModuleState __stop_freehold_states[];
}

namespace freehold::core {

void renew_states() noexcept {
  for (const ModuleState* entry = __start_freehold_states; entry != __stop_freehold_states; entry++) entry->renew(entry->state);
}

}  // namespace freehold::core
