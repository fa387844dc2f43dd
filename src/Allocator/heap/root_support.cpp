#include "heap/root_support.h"

#include "core/module_state.h"

namespace freehold::heap {

ReachabilityCounters reachability_counters;
FREEHOLD_MODULE_STATE(reachability_counters);

}  // namespace freehold::heap
