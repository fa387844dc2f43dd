// The calling thread's managed frames, as debug mode keeps them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "heap/history.h"

namespace freehold::runtime {

// Return addresses into managed methods, innermost first, at most `capacity`: what the stack trace of an exception thrown here would list. The caller
// is native code that managed code called, directly or through the runtime. Allocates nothing.
size_t walk_stack(heap::StackOf what, uintptr_t* addresses, size_t capacity) noexcept;

}  // namespace freehold::runtime
