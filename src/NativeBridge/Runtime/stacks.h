// Other stacks, and jumps between frames.
#pragma once

namespace freehold::bridge {

// Finds the C library's functions behind the jumps that are interposed. At the start: later the thread may hold what dlsym waits for, or be in a handler.
void resolve_jumps() noexcept;

}  // namespace freehold::bridge
