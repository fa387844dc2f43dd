// Whether a stop of the threads waits for the calling one. Native code that managed code calls without a transition cannot be interrupted: where it takes long, it looks here.
#pragma once

#include <cstdint>

namespace freehold::core {

// The runtime's word of what a thread has to do when it comes back from native code (RhpTrapThreads in its assembly, Runtime/amd64/PInvoke.S). Until there is a runtime, no stop is wanted.
inline constexpr uint32_t kTrapForStop = 2;
inline constexpr uint32_t kNothingTrapped = 0;
inline constinit const uint32_t* trapped = &kNothingTrapped;  // set once, before there is a second thread

// Any thread. A hint: the next stop may begin behind it.
inline bool is_stop_wanted() noexcept { return (__atomic_load_n(trapped, __ATOMIC_RELAXED) & kTrapForStop) != 0; }

}  // namespace freehold::core
