// The finalizer thread asks for its next object here, instead of the runtime: that would take the bit "finalizer run" for a finalizer that was suppressed,
// and clear it; here it says that the finalizer has been called, or is about to be.
#include "heap/finalization_queue.h"

extern "C" {

// Cooperative mode without a frame.
[[gnu::visibility("default")]] void* __wrap_RhpGetNextFinalizableObject() { return reinterpret_cast<void*>(freehold::heap::next_finalizable()); }
}
