// Set while no suspension is in progress: threads that meet one wait for it.
#pragma once

#include "runtime/event.h"

namespace freehold::runtime {

// The runtime resets it before a stop and sets it behind; in the child of a fork nobody does, so the fork sets it.
inline constinit Event threads_may_run{true};

}  // namespace freehold::runtime
