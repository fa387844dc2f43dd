// FREEHOLD_STRESS=sites: which places in the code have met a promoted object. A field with an old name is mended only by places that have: so every place
// that reads a field faults once, whoever read it before.
#pragma once

#include <cstdint>

namespace freehold::runtime {

// Whether the code at `ip`, which `caller` called if it is a helper's (0: it is not), is here for the first time. Signal-safe; any thread. Says no when
// too many places are known.
// They are counted in core::fault_counters.
bool is_new_site(uintptr_t ip, uintptr_t caller) noexcept;

}  // namespace freehold::runtime
