#include "heap/owned_parts.h"

[[gnu::weak]] void FreeholdCollectNoParts() {}
