#include "heap/owned_parts.h"

// Of the native tests, and of the other programs that have the heap without managed code: CoreLib's takes its place.
[[gnu::weak]] void FreeholdCollectNoParts() {}
