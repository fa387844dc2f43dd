// A full fence on every thread of the process that runs, on demand: the threads themselves then need none.
#pragma once

#include <linux/membarrier.h>

#include "Platform/system_call.h"

namespace freehold::os {

// False when the kernel refuses. Before the first barrier.
inline bool request_membarrier() noexcept { return system_call(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0; }
// Once requested, it does not fail.
inline bool membarrier() noexcept { return system_call(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0; }

}  // namespace freehold::os
